import { type AuthFailure, ConfigurationError } from '@sallyport/core'
import { type AuthPlugin, createAuth, defineEndpoint } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { eventually } from './support/eventually.ts'
import { post } from './support/requests.ts'
import { until } from './support/until.ts'

const app = await createTestAuth()
afterAll(() => app.close())

describe('removes expired rows on a schedule', () => {
  // A round goes on after it has removed the sessions, so each test has its own.
  let own: typeof app
  let definition: typeof app.definition
  let failures: AuthFailure[]
  beforeEach(async () => {
    const reported: AuthFailure[] = []
    failures = reported
    own = await createTestAuth()
    const onFailure = (failure: AuthFailure) => void reported.push(failure)
    definition = { ...own.definition, config: { ...own.config, onFailure } }
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })
  afterEach(async () => {
    vi.useRealTimers()
    await own.close()
  })

  const sessions = async () => (await own.db.selectFrom('session').select('id').execute()).length
  const limits = async () => (await own.db.selectFrom('sallyport.rate_limit').select('key').execute()).length
  async function addExpired(): Promise<void> {
    await own.db.insertInto('sallyport.rate_limit').values({ key: 'old', points: 1, expire: 0 }).execute()
    await own.expireSession(await own.signIn())
  }

  test.each([
    ['every hour', undefined, 3_600],
    ['the configured interval', 60, 60],
  ])('%s, repeatedly', async (_name, pruneEverySeconds, seconds) => {
    const options = pruneEverySeconds === undefined ? {} : { pruneEverySeconds }
    const auth = await createAuth(definition, own.database, options)
    for (let round = 0; round < 2; round++) {
      await addExpired()
      vi.advanceTimersByTime(seconds * 1000 - 1)
      expect(await sessions()).toBe(1)
      vi.advanceTimersByTime(1)
      // They are removed after the sessions, so this round leaves the next session alone.
      await until(async () => (await limits()) === 0)
      expect(await sessions()).toBe(0)
    }
    auth.close()
    expect(failures).toEqual([])
  })

  test('reports a failed round and continues', async () => {
    const onChange = vi.fn(() => Promise.reject(new Error('not today')))
    const rejecting: AuthPlugin = { id: 'rejecting', onChange }
    const options = { pruneEverySeconds: 60 }
    const auth = await createAuth({ ...definition, plugins: [rejecting] }, own.database, options)
    await addExpired()
    for (let round = 1; round <= 2; round++) {
      vi.advanceTimersByTime(60_000)
      await until(() => onChange.mock.calls.length === round)
    }
    const place = { code: 'INTERNAL_ERROR', path: 'prune', step: 'background' }
    const failure = expect.objectContaining({ ...place, cause: new Error('not today') })
    await until(() => failures.length > 0)
    expect(failures).toEqual([failure])
    auth.close()
  })

  test.each([-1, Number.NaN, 2_147_484, Number.POSITIVE_INFINITY])(
    "rejects %d seconds, which a timer can't wait",
    async (pruneEverySeconds) => {
      const server = createAuth(app.definition, app.database, { pruneEverySeconds })
      await expect(server).rejects.toThrow(ConfigurationError)
      await expect(server).rejects.toThrow(/^pruneEverySeconds\b/)
      expect(vi.getTimerCount()).toBe(0)
    },
  )
})

test.each([
  ['a year', {}, 365],
  ['the configured number of days', { auditDays: 30 }, 30],
])('keeps records for %s', async (_name, options, days) => {
  const auth = await createAuth(app.definition, app.database, { ...options, pruneEverySeconds: 0 })
  const record = { type: 'test', userId: null, sessionId: null, actorId: null, address: null, detail: '{}' }
  const daysAgo = (count: number) => new Date(app.clock.now().getTime() - count * 86_400_000)
  await app.db.deleteFrom('sallyport.audit').execute()
  await app.db
    .insertInto('sallyport.audit')
    .values([
      { ...record, id: 'old', createdAt: daysAgo(days) },
      { ...record, id: 'new', createdAt: daysAgo(days - 1) },
    ])
    .execute()
  expect(await auth.prune()).toMatchObject({ 'sallyport.audit': 1 })
  expect(await app.db.selectFrom('sallyport.audit').select('id').execute()).toEqual([{ id: 'new' }])
})

test.each([0, -1, 1.5, Number.NaN, 36_501])('rejects %d days at startup', async (auditDays) => {
  const server = createAuth(app.definition, app.database, { auditDays, pruneEverySeconds: 0 })
  await expect(server).rejects.toThrow(ConfigurationError)
  await expect(server).rejects.toThrow(/^auditDays\b/)
})

test.each([[['example.com']], [['10.0.0.0/33']]])(
  'rejects invalid trustedProxies at startup: %j',
  async (trustedProxies) => {
    const definition = { ...app.definition, config: { ...app.config, trustedProxies } }
    const server = createAuth(definition, app.database, { pruneEverySeconds: 0 })
    await expect(server).rejects.toThrow(ConfigurationError)
    await expect(server).rejects.toThrow(/^trustedProxies\b/)
  },
)

describe('an error thrown by onFailure', () => {
  const broken = defineEndpoint({
    method: 'POST',
    path: '/broken',
    caller: 'anyone',
    input: z.object({}),
    output: z.object({}),
    run: () => Promise.reject(new Error('a bug of the app')),
  })

  test.each([
    [
      'at once',
      () => {
        throw new Error('a bug of onFailure')
      },
    ],
    ['later', () => Promise.reject(new Error('a bug of onFailure'))],
  ])('%s is printed, and the response stays the same', async (_name, onFailure) => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const config = { ...app.config, onFailure }
    const plugins = [{ id: 'broken', endpoints: { broken } }]
    const auth = await createAuth({ ...app.definition, config, plugins }, app.database, {
      pruneEverySeconds: 0,
    })
    expect((await auth.handler(post('/broken', {}))).status).toBe(500)
    const [bug, cause] = [new Error('a bug of onFailure'), new Error('a bug of the app')]
    const failure = expect.objectContaining({ code: 'INTERNAL_ERROR', path: '/broken', cause })
    await eventually(() => expect(printed).toHaveBeenCalledWith('onFailure failed:', bug, failure))
    printed.mockRestore()
  })
})

test('calls onEvent of the configuration on every database', async () => {
  const onEvent = vi.fn<() => void>()
  const definition = { ...app.definition, config: { ...app.config, onEvent } }
  const { onEvent: _, ...database } = app.database
  const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
  await app.expireSession(await app.signIn())
  await auth.prune()
  expect(onEvent).toHaveBeenCalledWith(expect.objectContaining({ type: 'session.expired' }))
})
