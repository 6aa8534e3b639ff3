import type { SessionKey } from '@sallyport/core'
import { openPostgres } from '@sallyport/core/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { postgresKind } from '../../support/database-kinds.ts'
import { eventually } from '../../support/eventually.ts'
import { testPostgres } from '../../support/postgres.ts'
import { startQuietProxy } from '../../support/quiet-proxy.ts'
import { literal, storeSession } from '../../support/stored-sessions.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

const server = await testPostgres()
const { create } = postgresKind(server)

const database = await create()
await (await database.open()).close()
let ada: SessionKey
beforeEach(async () => {
  ada = await storeSession(database)
})

const LOOKUP_TIMEOUT_MS = 500
/** Timeouts end only when a test advances the time. */
const FAKED = ['performance', 'setTimeout', 'clearTimeout'] as const

function fakeTimers(toFake: readonly (typeof FAKED)[number][], finish = onTestFinished) {
  vi.useFakeTimers({ toFake: [...toFake] })
  finish(() => void vi.useRealTimers())
}

/** Opens the database behind a proxy that drops notifications. */
async function openQuietly({ finish = onTestFinished } = {}) {
  const warnings: string[] = []
  const warn = vi.spyOn(console, 'warn').mockImplementation((text) => void warnings.push(text))
  finish(() => warn.mockRestore())
  const proxy = await startQuietProxy(database.url)
  finish(proxy.close)
  const opened = await openPostgres(proxy.url, { lookupTimeoutMs: LOOKUP_TIMEOUT_MS })
  finish(opened.close)
  return { proxy, opened, warnings }
}

const remove = ({ sessionId }: SessionKey) =>
  database.run(`delete from session where id = ${literal(sessionId)}`)

describe('a node whose notifications are not delivered', () => {
  let node: Awaited<ReturnType<typeof openQuietly>>
  beforeAll(async () => {
    // The heartbeats are real.
    fakeTimers(['performance'], afterAll)
    node = await openQuietly({ finish: afterAll })
    await eventually(() => expect(node.warnings).toHaveLength(1))
  })

  test('warns once, naming the reason and the fix', async () => {
    const { proxy, warnings } = node
    expect(warnings[0]).toContain('did not arrive')
    expect(warnings[0]).toContain('pool_mode = session')
    // At least one more heartbeat.
    const dropped = proxy.dropped
    await eventually(() => expect(proxy.dropped).toBeGreaterThan(dropped))
    expect(warnings).toHaveLength(1)
  })

  test('checks calls as strictly, and reads the log at heartbeats', async () => {
    const { opened } = node
    const listener = vi.fn<() => void>()
    onTestFinished(opened.revocations.subscribe(ada, listener))
    expect(await opened.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
    await remove(ada)
    expect(await opened.sessions.findSession(ada)).toBeNull()
    await eventually(() => expect(listener).toHaveBeenCalled())
  })

  test('publishes changes at once after a notification has arrived, and warns no more', async () => {
    const { proxy, opened, warnings } = node
    proxy.deliver()
    const listener = vi.fn<() => void>()
    onTestFinished(opened.revocations.subscribe(ada, listener))
    // Only notified: no log has this entry.
    const payload = JSON.stringify(['0', ada.sessionId, ada.userId])
    await eventually(async () => {
      await database.run(`select pg_notify('sallyport_revocation', ${literal(payload)})`)
      expect(listener).toHaveBeenCalled()
    })
    expect(warnings).toHaveLength(1)
  })
})

test.each([
  ['triggers', 'drop trigger sallyport_session_deleted on session'],
  ['the log', 'drop table sallyport.revocation_log cascade'],
])('without %s, a lookup still sees every commit', async (_name, statement) => {
  fakeTimers(['performance'])
  const { opened } = await openQuietly()
  await database.run(statement)
  await remove(ada)
  expect(await opened.sessions.findSession(ada)).toBeNull()
})

test('no delivery is expected from a connection that has ended: an outage is no reason for a warning', async () => {
  fakeTimers(FAKED)
  const { proxy, opened, warnings } = await openQuietly()
  await until(() => proxy.dropped > 0)
  proxy.close()
  await expect(async () => opened.sessions.findSession(ada)).rejects.toThrow()
  await until(() => opened.revocations.failures?.current?.code === 'FEED_DOWN')
  await vi.advanceTimersByTimeAsync(2 * LOOKUP_TIMEOUT_MS)
  expect(warnings).toEqual([])
})

test('no delivery is expected from a server that hangs either', async () => {
  const warn = vi.spyOn(console, 'warn')
  onTestFinished(() => warn.mockRestore())
  fakeTimers(FAKED)
  const [{ now } = {}] = await database.rows('select clock_timestamp()::text as now')
  const proxy = await startProxy(server.port)
  const opened = await openPostgres(database.url.replace(`:${server.port}/`, `:${proxy.port}/`), {
    lookupTimeoutMs: LOOKUP_TIMEOUT_MS,
  })
  onTestFinished(opened.close)
  // The delivery was tested before this change.
  const listening = `select from pg_stat_activity where application_name = 'sallyport-listen' and state = 'idle'
    and query like '%revocation_log%' and backend_start > '${now}'`
  await until(async () => (await database.rows(listening)).length > 0)
  const bob = await storeSession(database)
  const listener = vi.fn<() => void>()
  onTestFinished(opened.revocations.subscribe(bob, listener))
  await remove(bob)
  await until(() => listener.mock.calls.length > 0)
  expect(await opened.sessions.findSession(ada)).not.toBeNull()
  proxy.pauseAnswers()
  // A heartbeat, and its timeout.
  await vi.advanceTimersByTimeAsync(5_000)
  await vi.advanceTimersByTimeAsync(3 * LOOKUP_TIMEOUT_MS)
  expect(warn).not.toHaveBeenCalled()
})
