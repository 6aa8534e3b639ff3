import { AuthClientError, createAuthClient } from '@sallyport/trpc/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { clientSession } from '../../src/client/client-session.ts'
import { decidedState } from '../../src/links/decided-state.ts'
import { refusal, scriptFetch, tokens } from '../support/scripted-fetch.ts'

const TOKEN = '/backend/token'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A client whose server the test plays, without other listeners. */
function open() {
  const server = scriptFetch()
  const client = createAuthClient({ baseUrl: 'http://localhost', fetch: server.fetch })
  server.answer(TOKEN, () => refusal(503, 'SESSIONS_UNAVAILABLE'))
  return { client, server, session: client[clientSession], over: new AbortController() }
}

test('resolves with the first state that lasts', async () => {
  const { client, server, session, over } = open()
  const waiting = decidedState(session, over.signal)
  await vi.advanceTimersByTimeAsync(100_000)
  expect(client.getState().status).toBe('unknown')
  server.answer(TOKEN, () => tokens())
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await waiting).toEqual(client.getState())
  expect(client.getState()).toMatchObject({ status: 'authenticated', error: null })
  expect(await decidedState(session, over.signal)).toEqual(client.getState())
})

test('also if the page may not open a WebSocket, which says nothing about calls over HTTP', async () => {
  const { client, server, session, over } = open()
  session.dispatch({
    type: 'page-rejected',
    error: new AuthClientError(403, { code: 'ORIGIN_REJECTED', message: '' }),
  })
  const waiting = decidedState(session, over.signal)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(client.getState().status).toBe('unknown')
  server.answer(TOKEN, () => tokens())
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await waiting).toMatchObject({ status: 'authenticated', error: null })
  expect(client.getState().error).toMatchObject({ code: 'ORIGIN_REJECTED' })
})

test.each([
  [401, 'SESSION_EXPIRED', 'unauthenticated'],
  [403, 'ACCOUNT_BANNED', 'unknown'],
  [401, 'COOKIE_CONFLICT', 'unknown'],
])('%i %s is such an answer', async (status, code, expected) => {
  const { server, session, over } = open()
  server.answer(TOKEN, () => refusal(status, code))
  expect((await decidedState(session, over.signal)).status).toBe(expected)
})

test('after an abort the client sends no more requests', async () => {
  const { server, session, over } = open()
  void decidedState(session, over.signal)
  await vi.advanceTimersByTimeAsync(0)
  over.abort()
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect(server.count(TOKEN)).toBe(1)
})
