import { TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { createAuthContext, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { callEndpoint } from '../support/call-endpoint.ts'
import { connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { begin, expectEnd, overEvents, overJsonLines, overWebSocket, STREAMS } from '../support/streams.ts'
import { browser } from '../support/visitor.ts'

const server = await startServer({ sockets: 'unknown' })
let admin: TestSession
beforeEach(async () => {
  admin = await server.auth.signIn({ role: 'admin' })
})
afterEach(() => server.clear())
afterAll(() => server.close())

/** Calls an endpoint over HTTP, and expects a 200. */
async function post(session: TestSession, path: string, body: object = {}): Promise<void> {
  const answer = await callEndpoint(server, browser(session), { method: 'POST', path, body })
  expect({ path, status: answer.status }).toEqual({ path, status: 200 })
}

/** Creates the request of an admin's page, for the methods of `auth.api`. */
const request = () =>
  new Request('http://localhost:3000/', { method: 'POST', headers: browser(admin).headers })

/** Opens a signed-in user's long-lived clients: over HTTP and over one WebSocket connection. */
function clientsOf(session: TestSession) {
  const overHttp = connectHttp(server, browser(session), 'httpLink over fetch').client
  return [connectWebSocket(server, browser(session)), overHttp]
}

const LIVE = [
  { stream: 'over WebSocket', open: overWebSocket('clock') },
  { stream: 'over server-sent events', open: overEvents('node', 'clock') },
  { stream: 'as JSON lines', open: overJsonLines('fetch', 'streamed') },
]

test('resolvers see no trace of an ended ban: neither the reason nor a stale flag', async () => {
  const session = await server.auth.signIn()
  const banExpires = new Date(server.config.now().getTime() - 1)
  await server.auth.db
    .updateTable('user')
    .set({ banned: true, banReason: 'noise', banExpires })
    .where('id', '=', session.userId)
    .execute()
  const t = initTRPC.context<DatabaseContext>().create()
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx: { user, session } }) => ({ user, session })),
  })
  const { auth } = createAuthContext(server.config).headers(new Headers(browser(session).headers))
  const me = await t.createCallerFactory(router)({ auth, db: server.db }).me()
  const shown: unknown = JSON.parse(JSON.stringify(me))
  const user = { id: session.userId, name: me.user.name, email: me.user.email, role: 'user' }
  expect(shown).toMatchObject({ user, session: { user, ban: null } })
  expect(Object.keys(me.user).sort()).toEqual(['email', 'id', 'name', 'role'])
  expect(JSON.stringify(me)).not.toMatch(/noise|banned|banExpires|banReason/)
})

describe('a ban', () => {
  const bans: { by: string; ban: (userId: string) => Promise<unknown> }[] = [
    { by: 'POST /admin/ban-user', ban: (userId) => post(admin, '/admin/ban-user', { userId }) },
    {
      by: 'auth.api.banUser',
      ban: (userId) => server.auth.api.banUser({ userId, reason: 'spam', request: request() }),
    },
  ]

  describe.each(bans)('by $by', ({ ban }) => {
    test.each(STREAMS)('ends $stream with ACCOUNT_BANNED', async ({ open }) => {
      const { session, stream } = await begin(server, open)
      await ban(session.userId)
      server.stage.ticker.emit('tick', 'late')
      const rejection = await stream.ended
      expectEnd(rejection, 'ACCOUNT_BANNED')
      expect(rejection).toMatchObject({ code: 'FORBIDDEN', httpStatus: 403, message: 'Account banned' })
      expect(stream.values).toHaveLength(1)
      await soon(() => expect(server.feed.listeners).toBe(0))
    })

    test('rejects the next call of every session, and keeps the sessions', async () => {
      const session = await server.auth.signIn()
      const elsewhere = await server.auth.signIn({ userId: session.userId })
      const clients = [...clientsOf(session), ...clientsOf(elsewhere)]
      for (const client of clients) expect(await client.me.query()).toBe(session.userId)
      await ban(session.userId)
      for (const client of clients)
        expect((await outcomeOf(client.me.query())).rejection).toEqual(
          rejectionFor('ACCOUNT_BANNED', { replay: true }),
        )
    })
  })

  test('that is lifted makes the same connections work again', async () => {
    const session = await server.auth.signIn()
    const clients = clientsOf(session)
    await post(admin, '/admin/ban-user', { userId: session.userId })
    for (const client of clients)
      expect((await outcomeOf(client.me.query())).rejection?.auth?.reason).toBe('ACCOUNT_BANNED')
    await post(admin, '/admin/unban-user', { userId: session.userId })
    for (const client of clients) expect(await client.me.query()).toBe(session.userId)
  })
})

describe('every way to end a session ends its streams, and the next call is 401', () => {
  const endings: { way: string; end: (session: TestSession) => Promise<unknown> }[] = [
    { way: 'sign-out', end: (session) => post(session, '/sign-out') },
    {
      way: 'the user ends it from another session',
      end: async ({ userId, sessionId }) =>
        post(await server.auth.signIn({ userId }), '/revoke-session', { sessionId }),
    },
    {
      way: 'the user ends all others from another session',
      end: async ({ userId }) => post(await server.auth.signIn({ userId }), '/revoke-other-sessions'),
    },
    { way: 'the user ends all of them', end: (session) => post(session, '/revoke-sessions') },
    {
      way: 'an admin ends it',
      end: ({ sessionId }) => post(admin, '/admin/revoke-user-session', { sessionId }),
    },
    {
      way: "an admin ends all of the user's sessions",
      end: ({ userId }) => post(admin, '/admin/revoke-user-sessions', { userId }),
    },
    {
      way: 'the password is changed in another session',
      end: async ({ userId }) =>
        post(await server.auth.signIn({ userId }), '/change-password', {
          currentPassword: TEST_PASSWORD,
          newPassword: 'quite another battery staple',
        }),
    },
    {
      way: 'another user signs in in the browser',
      async end(session) {
        const { email } = await server.auth.createUser()
        await post(session, '/sign-in/email', { email, password: TEST_PASSWORD })
      },
    },
    { way: 'the account is deleted', end: (session) => post(session, '/delete-user') },
  ]

  describe.each(LIVE)('a clock $stream', ({ open }) => {
    test.each(endings)('when $way', async ({ end }) => {
      const { session, stream } = await begin(server, open)
      const [, next] = clientsOf(session)
      await end(session)
      expectEnd(await stream.ended, 'SESSION_NOT_FOUND')
      const rejection = rejectionFor('SESSION_NOT_FOUND', { replay: true })
      expect((await outcomeOf(next?.me.query() ?? Promise.resolve())).rejection).toEqual(rejection)
    })
  })

  test('a change of password also ends the streams of its own session, whose credentials were replaced', async () => {
    const { session, stream } = await begin(server, overWebSocket('clock'))
    await post(session, '/change-password', {
      currentPassword: TEST_PASSWORD,
      newPassword: 'quite another battery staple',
    })
    expectEnd(await stream.ended, 'TOKEN_INVALID')
    expect(stream.values).toEqual(['ready'])
  })
})
