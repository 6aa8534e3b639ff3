import { AuthError } from '@sallyport/core'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { ask, CALL_PATHS, connectHttp, connectWebSocket, statusOn } from '../support/connect.ts'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { startServer } from '../support/start-server.ts'
import { browser, type Visitor } from '../support/visitor.ts'

const server = await startServer({ session: { lookupTimeoutMs: 100 } })
afterEach(() => server.clear())
afterAll(() => server.close())

const signIn = async (): Promise<{ userId: string; visitor: Visitor }> => {
  const session = await server.auth.signIn()
  return { userId: session.userId, visitor: browser(session) }
}

describe('an undecidable call is 503, never 401 and never 200', () => {
  const stores: { store: string; break: () => void }[] = [
    {
      store: 'throws',
      break() {
        server.store.answer = () => {
          throw new Error('connect ECONNREFUSED 10.0.0.7:5432')
        }
      },
    },
    {
      store: 'rejects',
      break() {
        server.store.answer = () => Promise.reject(new Error('database is locked'))
      },
    },
    {
      store: 'hangs',
      break() {
        server.store.answer = () => new Promise(() => {})
      },
    },
    {
      store: 'returns undefined',
      break() {
        server.store.answer = async () => JSON.parse('{}').nothing
      },
    },
    {
      store: "returns another user's session",
      break() {
        server.store.answer = async (find) => {
          const session = await find()
          return session && { ...session, userId: 'somebody else' }
        }
      },
    },
    {
      store: 'returns a session with an invalid expiry',
      break() {
        server.store.answer = async (find) => JSON.parse(JSON.stringify(await find()))
      },
    },
  ]

  describe.each(stores)('a store that $store: SESSIONS_UNAVAILABLE', ({ break: breakStore }) => {
    test.each(CALL_PATHS)('over %s', async (transport) => {
      const { visitor } = await signIn()
      breakStore()
      const { rejection, status } = await ask(server, visitor, transport)
      expect(rejection).toEqual(rejectionFor('SESSIONS_UNAVAILABLE', { replay: true }))
      expect(status).toBe(statusOn(transport, 503))
      expect(server.stage.runs).toEqual([])
    })
  })

  describe.each([
    { reason: 'KEYS_UNAVAILABLE', fault: new AuthError('KEYS_UNAVAILABLE') },
    { reason: 'KEYS_UNAVAILABLE', fault: new TypeError('fetch failed') },
  ] as const)('a key set that fails with $fault: $reason', ({ reason, fault }) => {
    test.each(CALL_PATHS)('over %s', async (transport) => {
      const { visitor } = await signIn()
      server.keys.fault = fault
      const { rejection, status } = await ask(server, visitor, transport)
      expect(rejection).toEqual(rejectionFor(reason, { replay: true }))
      expect(status).toBe(statusOn(transport, 503))
      expect(server.stage.runs).toEqual([])
      expect(server.auth.lookups.count).toBe(0)
    })
  })

  test.each([
    { failure: 'store', break: () => (server.store.answer = () => Promise.reject(new Error('down'))) },
    { failure: 'key set', break: () => (server.keys.fault = new AuthError('KEYS_UNAVAILABLE')) },
  ])('a connection works again after the $failure recovers: a 503 is not cached', async (row) => {
    const { userId, visitor } = await signIn()
    const client = connectWebSocket(server, visitor)
    row.break()
    const { rejection } = await outcomeOf(client.me.query())
    expect(rejection?.httpStatus).toBe(503)

    server.reset()
    expect(await client.me.query()).toBe(userId)
    expect(server.sockets.size).toBe(1)
  })
})

describe('Retry-After', () => {
  const plain = ['httpLink over node', 'httpLink over fetch', 'httpBatchLink over node'] as const

  test.each(plain)('is a header of a 503, which sets no cookie, over %s', async (transport) => {
    const { visitor } = await signIn()
    server.store.answer = () => Promise.reject(new Error('down'))
    const { client, answers } = connectHttp(server, visitor, transport)
    const { rejection } = await outcomeOf(client.me.query())
    expect(rejection?.auth?.retryAfterSeconds).toBe(1)
    expect(answers[0]?.status).toBe(503)
    expect(answers[0]?.headers.get('retry-after')).toBe('1')
    expect(answers[0]?.headers.getSetCookie()).toEqual([])
  })

  test('is the longest wait of a batch whose calls all fail with 503', async () => {
    const { visitor } = await signIn()
    const { client, answers } = connectHttp(server, visitor, 'httpBatchLink over fetch')
    await Promise.all([outcomeOf(client.gone.query()), outcomeOf(client.gone.query({ seconds: 30 }))])
    expect(answers[0]?.status).toBe(503)
    expect(answers[0]?.headers.get('retry-after')).toBe('30')
  })

  test('is in the error instead of a header for a mixed batch (207) and a stream (200)', async () => {
    const { visitor } = await signIn()
    server.store.answer = () => Promise.reject(new Error('down'))
    for (const transport of ['httpBatchLink over node', 'httpBatchStreamLink over node'] as const) {
      const { client, answers } = connectHttp(server, visitor, transport)
      const [, { rejection }] = await Promise.all([client.health.query(), outcomeOf(client.me.query())])
      expect(rejection?.auth?.retryAfterSeconds).toBe(1)
      expect(answers[0]?.status).toBe(transport.startsWith('httpBatchLink') ? 207 : 200)
      expect(answers[0]?.headers.get('retry-after'), transport).toBeNull()
    }
  })

  test('is not sent with any other rejection', async () => {
    const { client, answers } = connectHttp(server, browser(), 'httpLink over node')
    await outcomeOf(client.me.query())
    expect(answers[0]?.status).toBe(401)
    expect(answers[0]?.headers.get('retry-after')).toBeNull()
  })
})

describe('errors from within a resolver', () => {
  test.each([
    {
      error: "a resolver's SESSIONS_UNAVAILABLE",
      path: 'gone',
      rejection: {
        code: 'SERVICE_UNAVAILABLE',
        httpStatus: 503,
        auth: { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 7, replay: false },
      },
    },
    {
      error: "a resolver's ACCOUNT_BANNED",
      path: 'banned',
      rejection: rejectionFor('ACCOUNT_BANNED', { replay: false }),
    },
    {
      error: "the app's own error",
      path: 'missing',
      rejection: { code: 'NOT_FOUND', httpStatus: 404, message: 'You have no such note', auth: null },
    },
    {
      error: 'a bug of the app',
      path: 'crash',
      rejection: { code: 'INTERNAL_SERVER_ERROR', httpStatus: 500, auth: null },
    },
  ] as const)('$error keeps its content, and must not be replayed', async ({ path, rejection }) => {
    const { visitor } = await signIn()
    for (const client of [
      connectHttp(server, visitor, 'httpLink over node').client,
      connectHttp(server, visitor, 'httpBatchStreamLink over fetch').client,
      connectWebSocket(server, visitor),
    ]) {
      expect((await outcomeOf(client[path].query())).rejection).toMatchObject(rejection)
    }
  })

  test("an input that doesn't parse is BAD_REQUEST for an authorized caller, and hidden from an anonymous one", async () => {
    const { visitor } = await signIn()
    const wrong = { name: '' }
    const known = connectHttp(server, visitor, 'httpLink over node').client
    expect((await outcomeOf(known.named.query(wrong))).rejection).toMatchObject({
      code: 'BAD_REQUEST',
      auth: null,
    })
    const stranger = connectHttp(server, browser(), 'httpLink over node').client
    expect((await outcomeOf(stranger.named.query(wrong))).rejection?.auth?.reason).toBe('TOKEN_MISSING')
  })
})

test('no message of a library or the database reaches the client', async () => {
  const { visitor } = await signIn()
  server.store.answer = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:5432'))
  const answer = await fetch(`http://${server.host}/trpc/me`, { headers: visitor.headers })
  const body = JSON.parse(await answer.text(), (key, value) => (key === 'stack' ? undefined : value))
  expect(JSON.stringify(body)).not.toContain('ECONNREFUSED')
})
