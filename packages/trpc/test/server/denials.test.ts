import { createHash } from 'node:crypto'
import type { AuthEvent, Reason } from '@sallyport/core'
import type { TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { callerFor, connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf } from '../support/outcome.ts'
import { rawRequest } from '../support/raw-request.ts'
import { MAX_AGE } from '../support/router.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { begin, overWebSocket } from '../support/streams.ts'
import { browser, FOREIGN, type Visitor } from '../support/visitor.ts'

type Denial = Extract<AuthEvent, { type: 'decision.denied' }>

const onEvent = vi.fn<(event: AuthEvent) => void | Promise<void>>()

const server = await startServer({ onEvent })
afterEach(async () => {
  vi.restoreAllMocks()
  await server.clear()
  onEvent.mockReset()
})
afterAll(() => server.close())

/** Returns the reported rejections so far. */
const denials = (): Denial[] =>
  onEvent.mock.calls.map(([event]) => event).filter((event) => event.type === 'decision.denied')

/** Waits for this many reports, and a little longer in case there is another. */
async function denialsOf(count: number): Promise<Denial[]> {
  await soon(() => expect(denials().length).toBeGreaterThanOrEqual(count))
  await new Promise((resolve) => setTimeout(resolve, 5))
  return denials()
}

const hashOf = ({ sessionId }: TestSession) =>
  `sha256:${createHash('sha256').update(sessionId).digest('hex')}`

interface Row {
  readonly reason: Reason
  /** Prepares the session for the rejection, and returns the visitor. */
  readonly prepare: (session: TestSession) => Visitor | Promise<Visitor>
  /** @default 'me' */
  readonly path?: 'payment' | 'users'
}

const STEP_1: readonly Row[] = [
  { reason: 'TOKEN_MISSING', prepare: () => browser() },
  { reason: 'TOKEN_INVALID', prepare: () => browser({ cookie: 'service.jwt=nonsense' }) },
  { reason: 'TOKEN_EXPIRED', prepare: async (session) => browser(await server.auth.expireJwt(session)) },
  {
    reason: 'COOKIE_CONFLICT',
    prepare: ({ cookie }) => browser({ cookie: `${cookie}; ${cookie}` }),
  },
  { reason: 'ORIGIN_REJECTED', prepare: ({ cookie }) => ({ headers: { cookie, ...FOREIGN } }) },
  {
    reason: 'KEYS_UNAVAILABLE',
    prepare(session) {
      server.keys.fault = new Error('down')
      return browser(session)
    },
  },
]

const STEP_2: readonly Row[] = [
  {
    reason: 'SESSION_NOT_FOUND',
    async prepare(session) {
      await server.auth.revoke(session)
      return browser(session)
    },
  },
  {
    reason: 'SESSION_EXPIRED',
    async prepare(session) {
      await server.auth.expireSession(session)
      return browser(session)
    },
  },
  {
    reason: 'ACCOUNT_BANNED',
    async prepare(session) {
      await server.auth.ban(session)
      return browser(session)
    },
  },
  {
    reason: 'SESSIONS_UNAVAILABLE',
    prepare(session) {
      server.store.answer = () => Promise.reject(new Error('down'))
      return browser(session)
    },
  },
  { reason: 'ROLE_REQUIRED', path: 'users', prepare: (session) => browser(session) },
  {
    reason: 'SESSION_NOT_FRESH',
    path: 'payment',
    prepare(session) {
      server.auth.clock.advance(MAX_AGE + 1)
      return browser(session)
    },
  },
]

/** Makes a row's call, which must be rejected for its reason. */
async function reject({ reason, prepare, path }: Row): Promise<TestSession> {
  const session = await server.auth.signIn()
  const visitor = await prepare(session)
  const { client } = connectHttp(server, visitor, 'httpLink over node')
  const call = {
    me: () => client.me.query(),
    users: () => client.users.query(),
    payment: () => client.payment.mutate(),
  }
  const isForeign = 'sec-fetch-site' in visitor.headers
  const answered = isForeign
    ? (await rawRequest(server, { path: '/trpc/me', headers: visitor.headers })).reason
    : (await outcomeOf(call[path ?? 'me']())).rejection?.auth?.reason
  expect(answered).toBe(reason)
  return session
}

describe('decision.denied', () => {
  test.each(STEP_1)('in Step 1: $reason, without a session', async (row) => {
    await reject(row)
    expect(await denialsOf(1)).toEqual([
      {
        type: 'decision.denied',
        at: server.auth.clock.now(),
        reason: row.reason,
        step: 1,
        sessionIdHash: null,
        durationMs: expect.any(Number),
      },
    ])
  })

  test.each(STEP_2)("in Step 2: $reason, with the session id's hash", async (row) => {
    const session = await reject(row)
    const reported = await denialsOf(1)
    expect(reported).toEqual([
      {
        type: 'decision.denied',
        at: server.auth.clock.now(),
        reason: row.reason,
        step: 2,
        sessionIdHash: hashOf(session),
        durationMs: expect.any(Number),
      },
    ])
    expect(reported[0]?.durationMs).toBeGreaterThanOrEqual(0)
    expect(JSON.stringify(onEvent.mock.calls.slice(-1))).not.toContain(session.sessionId)
  })

  test('is reported once for a request with several calls', async () => {
    const { client } = connectHttp(server, browser(), 'httpBatchLink over node')
    await Promise.all(Array.from({ length: 5 }, () => outcomeOf(client.me.query())))
    expect(await denialsOf(1)).toHaveLength(1)

    const session = await server.auth.signIn()
    await server.auth.revoke(session)
    const second = connectHttp(server, browser(session), 'httpBatchLink over fetch').client
    await Promise.all(Array.from({ length: 5 }, () => outcomeOf(second.me.query())))
    expect((await denialsOf(2)).map(({ step }) => step)).toEqual([1, 2])
  })

  test('is reported for every rejected call of a WebSocket connection', async () => {
    const session = await server.auth.signIn()
    const client = connectWebSocket(server, browser(session))
    await client.me.query()
    await server.auth.revoke(session)
    for (let i = 0; i < 3; i++) await outcomeOf(client.me.query())
    expect((await denialsOf(3)).map(({ reason }) => reason)).toEqual(Array(3).fill('SESSION_NOT_FOUND'))
  })

  test('is reported once for a stream that ends', async () => {
    const { session, stream } = await begin(server, overWebSocket('clock'))
    await server.auth.ban(session)
    await stream.ended
    expect(await denialsOf(1)).toMatchObject([
      { reason: 'ACCOUNT_BANNED', step: 2, sessionIdHash: hashOf(session) },
    ])
  })

  test('is not reported for an authorized call', async () => {
    const session = await server.auth.signIn({ role: 'admin' })
    const caller = callerFor(server, browser(session))
    await Promise.all([caller.me(), caller.users(), caller.secret(), caller.balance(), caller.whoami()])
    await connectWebSocket(server, browser(session)).me.query()
    expect(await denialsOf(0)).toEqual([])
  })

  const failures: { listener: string; fail: () => void | Promise<void> }[] = [
    {
      listener: 'throws',
      fail() {
        throw new Error('the log is full')
      },
    },
    { listener: 'rejects', fail: () => Promise.reject(new Error('the log is full')) },
    { listener: 'never settles', fail: () => new Promise(() => {}) },
  ]

  describe.each(failures)('a listener that $listener changes no decision', ({ fail }) => {
    test.each([...STEP_1, ...STEP_2])('$reason', async (row) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      onEvent.mockImplementation(fail)
      await reject(row)
      expect(await denialsOf(1)).toMatchObject([{ reason: row.reason }])
    })
  })
})
