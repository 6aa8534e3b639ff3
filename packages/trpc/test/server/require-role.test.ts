import type { Reason } from '@sallyport/core'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { callEndpoint } from '../support/call-endpoint.ts'
import { connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { MAX_AGE } from '../support/router.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { expectEnd, type Open, overEvents, overWebSocket } from '../support/streams.ts'
import { browser } from '../support/visitor.ts'

const denials: Reason[] = []
const server = await startServer({
  rolesOf({ role }) {
    if (role === 'unreadable') throw new TypeError('The role is unreadable')
    return [role]
  },
  onFailure() {},
  onEvent: (event) => void (event.type === 'decision.denied' && denials.push(event.reason)),
})
afterEach(() => server.clear())
afterAll(() => server.close())

const setRole = (userId: string, role: string) =>
  server.auth.db.updateTable('user').set({ role }).where('id', '=', userId).execute()

test.each([
  { role: 'user', users: false, drafts: false },
  { role: 'editor', users: false, drafts: true },
  { role: 'admin', users: true, drafts: true },
  { role: 'Admin', users: false, drafts: false },
  { role: 'admin,editor', users: false, drafts: false },
  { role: '', users: false, drafts: false },
])(
  'role "$role" is accepted by requireRole("admin"): $users, by requireRole("editor", "admin"): $drafts',
  async (row) => {
    const session = await server.auth.signIn({ role: row.role })
    const client = connectWebSocket(server, browser(session))
    const rejection = rejectionFor('ROLE_REQUIRED', { replay: true })
    expect((await outcomeOf(client.users.query())).rejection).toEqual(row.users ? null : rejection)
    expect((await outcomeOf(client.drafts.query())).rejection).toEqual(row.drafts ? null : rejection)
  },
)

test('the role is read from the row: a demoted user is rejected at once, on the same connection', async () => {
  const session = await server.auth.signIn({ role: 'admin' })
  const socket = connectWebSocket(server, browser(session))
  const { client } = connectHttp(server, browser(session), 'httpLink over fetch')
  expect(await socket.users.query()).toBe('all of them')
  expect(await client.users.query()).toBe('all of them')

  await setRole(session.userId, 'user')
  for (const { users } of [socket, client])
    expect((await outcomeOf(users.query())).rejection).toEqual(
      rejectionFor('ROLE_REQUIRED', { replay: true }),
    )

  await setRole(session.userId, 'admin')
  expect(await socket.users.query()).toBe('all of them')
})

test('a caller without a session gets TOKEN_MISSING, not ROLE_REQUIRED', async () => {
  const { client } = connectHttp(server, browser(), 'httpLink over node')
  expect((await outcomeOf(client.users.query())).rejection?.auth?.reason).toBe('TOKEN_MISSING')
})

describe('a stream behind requireRole', () => {
  const streams: { stream: string; open: Open }[] = [
    { stream: 'over WebSocket', open: overWebSocket('adminClock') },
    { stream: 'over server-sent events', open: overEvents('node', 'adminClock') },
    { stream: 'with another guard after the role', open: overWebSocket('sensitiveAdminClock') },
  ]

  /** Opens an admin's stream for admins, and one for all users. */
  async function begin(open: Open) {
    const session = await server.auth.signIn({ role: 'admin' })
    const guarded = await open(server, session)
    const free = await overWebSocket('clock')(server, session)
    expect((await guarded.first).rejection).toBeNull()
    expect((await free.first).rejection).toBeNull()
    return { session, guarded, free }
  }

  describe.each(streams)('$stream', ({ open }) => {
    test("ends with ROLE_REQUIRED when the user loses the role, and the user's other streams continue", async () => {
      const { session, guarded, free } = await begin(open)
      const admin = await server.auth.signIn({ role: 'admin' })
      const demoted = await callEndpoint(server, browser(admin), {
        method: 'POST',
        path: '/admin/set-role',
        body: { userId: session.userId, role: 'user' },
      })
      expect(demoted.status).toBe(200)
      server.stage.ticker.emit('tick', 'late')
      expectEnd(await guarded.ended, 'ROLE_REQUIRED')
      await soon(() => expect(free.values).toEqual(['ready', 'late']))
      expect(guarded.values).toEqual(['ready'])
    })

    test('ends when another process has removed the role', async () => {
      const { session, guarded, free } = await begin(open)
      await setRole(session.userId, 'user')
      server.feed.publish({ sessionId: null, userId: session.userId })
      expectEnd(await guarded.ended, 'ROLE_REQUIRED')
      server.stage.ticker.emit('tick', 'still here')
      await soon(() => expect(free.values).toEqual(['ready', 'still here']))
    })

    test("ends with SESSIONS_UNAVAILABLE when the app's function throws, and the process continues", async () => {
      const { session, guarded, free } = await begin(open)
      await setRole(session.userId, 'unreadable')
      server.feed.publish({ sessionId: null, userId: session.userId })
      server.stage.ticker.emit('tick', 'late')
      expectEnd(await guarded.ended, 'SESSIONS_UNAVAILABLE')
      await soon(() => expect(free.values).toEqual(['ready', 'late']))
      expect(guarded.values).toEqual(['ready'])
    })

    test('continues with any of the roles, and after unrelated changes', async () => {
      const { session, guarded } = await begin(open)
      await server.auth.db
        .updateTable('user')
        .set({ name: 'Renamed' })
        .where('id', '=', session.userId)
        .execute()
      server.feed.publish({ sessionId: null, userId: session.userId })
      server.stage.ticker.emit('tick', 'still here')
      await soon(() => expect(guarded.values).toEqual(['ready', 'still here']))
    })

    test("doesn't start if the role was lost during the authorization", async () => {
      const session = await server.auth.signIn({ role: 'admin' })
      server.store.answer = async (find) => {
        const found = await find()
        server.store.answer = null
        await setRole(session.userId, 'user')
        server.feed.publish({ sessionId: null, userId: session.userId })
        return found
      }
      const { ended, values } = await open(server, session)
      expect((await ended)?.auth?.reason).toBe('ROLE_REQUIRED')
      expect(values).toEqual([])
    })
  })

  test('is reported to the app once', async () => {
    const { session, guarded } = await begin(overWebSocket('adminClock'))
    denials.length = 0
    await setRole(session.userId, 'user')
    server.feed.publish({ sessionId: null, userId: session.userId })
    await guarded.ended
    await soon(() => expect(denials).toEqual(['ROLE_REQUIRED']))
  })
})

test('a stream continues when the sign-in is no longer fresh: only the next call requires a new one', async () => {
  const session = await server.auth.signIn()
  const stream = await overWebSocket('paymentClock')(server, session)
  expect((await stream.first).rejection).toBeNull()
  server.auth.clock.advance(MAX_AGE + 1)
  server.feed.publish(session)
  server.stage.ticker.emit('tick', 'still here')
  await soon(() => expect(stream.values).toEqual(['ready', 'still here']))
  const { client } = connectHttp(server, browser(session), 'httpLink over node')
  expect((await outcomeOf(client.balance.query())).rejection?.auth?.reason).toBe('SESSION_NOT_FRESH')
})
