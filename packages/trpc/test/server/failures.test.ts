import { once } from 'node:events'
import type { AuthFailure } from '@sallyport/core'
import type { TestSession } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import type { TRPCError } from '@trpc/server'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { ask } from '../support/connect.ts'
import { createCaller } from '../support/router.ts'
import { soon } from '../support/soon.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { begin, expectEnd, overWebSocket } from '../support/streams.ts'
import { browser } from '../support/visitor.ts'

const onFailure = vi.fn<(failure: AuthFailure) => void>()
const down = Object.assign(new Error('down'), { code: 'SQLITE_READONLY' })
let server: TestServer
let session: TestSession
beforeEach(async () => {
  // Reports are limited for each configuration.
  server = await startServer({ onFailure })
  session = await server.auth.signIn()
})
afterEach(async () => {
  await server.clear()
  await server.close()
  onFailure.mockReset()
})

const STEP_2 = { code: 'DATABASE_READ_ONLY', reason: 'SESSIONS_UNAVAILABLE', step: 'step2', cause: down }

test.each(['httpLink over node', 'httpLink over fetch', 'wsLink', 'createCaller'] as const)(
  'the cause of a 503 is reported once: %s',
  async (transport) => {
    server.store.answer = () => Promise.reject(down)
    const { rejection } = await ask(server, browser(session), transport)
    expect(rejection?.auth).toMatchObject({ reason: 'SESSIONS_UNAVAILABLE' })
    expect(onFailure).toHaveBeenCalledExactlyOnceWith({
      ...STEP_2,
      path: 'me',
      recovered: false,
      suppressed: 0,
    })
    expect(JSON.stringify(rejection)).not.toContain('down')
  },
)

test("tRPC's onError gets the cause on the server", async () => {
  server.store.answer = () => Promise.reject(down)
  const errors: TRPCError[] = []
  const { auth } = createAuthContext(server.config).headers(browser(session).headers)
  const context = { auth, db: server.db, stage: server.stage }
  const caller = createCaller(context, { onError: ({ error }) => void errors.push(error) })
  await expect(caller.me()).rejects.toThrow()
  expect(errors).toMatchObject([{ cause: { reason: 'SESSIONS_UNAVAILABLE', cause: down } }])
})

test('a minute has one report of each code and path, and then the number of the others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  server.store.answer = () => Promise.reject(down)
  const call = () => ask(server, browser(session), 'createCaller')
  for (let attempt = 0; attempt < 5; attempt++) await call()
  expect(onFailure.mock.calls).toMatchObject([[{ ...STEP_2, suppressed: 0 }]])
  vi.advanceTimersByTime(60_000)
  expect(onFailure.mock.calls).toMatchObject([[{ suppressed: 0 }], [{ ...STEP_2, suppressed: 3 }]])
  vi.useRealTimers()
})

test('a rejection of the caller is no failure', async () => {
  await server.auth.revoke(session)
  expect((await ask(server, browser(session), 'createCaller')).rejection).not.toBe(null)
  expect((await ask(server, browser(), 'createCaller')).rejection).not.toBe(null)
  expect(onFailure).not.toHaveBeenCalled()
})

test('the end of a stream whose session can no longer be read', async () => {
  const { session: own, stream } = await begin(server, overWebSocket('clock'))
  server.store.answer = () => Promise.reject(down)
  server.feed.publish(own)
  expectEnd(await stream.ended, 'SESSIONS_UNAVAILABLE')
  expect(onFailure.mock.calls).toMatchObject([[{ ...STEP_2, path: 'clock' }]])
})

test('a handshake without calls, and an onFailure that throws', async () => {
  onFailure.mockImplementation(() => {
    throw new Error('a bug of the app')
  })
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  server.keys.fault = down
  const socket = new WebSocket(`ws://${server.host}/ws`, { headers: browser(session).headers })
  await once(socket, 'open')
  await soon(() => expect(onFailure).toHaveBeenCalled())
  expect(onFailure.mock.calls).toMatchObject([[{ path: 'handshake', step: 'step1', cause: down }]])
  expect(printed).toHaveBeenCalledWith('onFailure failed:', expect.any(Error), expect.anything())
  printed.mockRestore()
  socket.terminate()
})
