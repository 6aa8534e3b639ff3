import { createAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { cookieChanges, post } from '../../support/requests.ts'

const auth = await createTestAuth()
const owner = await auth.createUser()
const admin = await auth.signIn({ role: 'admin' })
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn({ userId: owner.userId })
})

const revoke = (cookie: string, body: unknown = { sessionId: ada.sessionId }) =>
  auth.handler(post(ENDPOINTS.revokeUserSession.path, body, { ...(cookie !== '' && { cookie }) }))
const isThere = async ({ sessionId, userId }: TestSession) =>
  (await auth.database.sessions.findSession({ sessionId, userId })) !== null

describe('an admin', () => {
  test('ends a session of any user, and the cookies stay as they are', async () => {
    const response = await revoke(admin.cookie)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ revoked: true })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await isThere(ada)).toBe(false)
  })

  test('ends only the one that was named', async () => {
    const other = await auth.signIn({ userId: owner.userId })
    await revoke(admin.cookie)
    expect(await isThere(other)).toBe(true)
    expect(await isThere(admin)).toBe(true)
  })

  test('leaves a record of who did it', async () => {
    await revoke(admin.cookie)
    const records = auth.db
      .selectFrom('audit')
      .select(['userId', 'actorId', 'detail', 'createdAt'])
      .where('sessionId', '=', ada.sessionId)
      .where('type', '=', 'session.revoked')
    expect(await records.execute()).toEqual([
      {
        userId: owner.userId,
        actorId: admin.userId,
        detail: '{"cause":"revoked-by-admin"}',
        createdAt: auth.clock.now().toISOString(),
      },
    ])
  })

  test('is told when there was none to end', async () => {
    await revoke(admin.cookie)
    expect(await (await revoke(admin.cookie)).json()).toEqual({ revoked: false })
    expect(await (await revoke(admin.cookie, { sessionId: "' or 1=1 --" })).json()).toEqual({
      revoked: false,
    })
  })

  test('may end their own', async () => {
    const self = await auth.signIn({ role: 'admin' })
    expect(await (await revoke(self.cookie, { sessionId: self.sessionId })).json()).toEqual({ revoked: true })
    expect((await revoke(self.cookie)).status).toBe(401)
  })

  test.each([
    ['no body', undefined, ['sessionId']],
    ['an empty list', [], undefined],
    ['no session id', {}, ['sessionId']],
    ['an empty session id', { sessionId: '' }, ['sessionId']],
    ['a session id of 129 characters', { sessionId: 'x'.repeat(129) }, ['sessionId']],
    ['a number', { sessionId: 1 }, ['sessionId']],
    ['a list', { sessionId: ['x'] }, ['sessionId']],
    ['more than it takes', { sessionId: 'x', userId: 'y' }, ['userId']],
  ])('who sends %s gets 400 and the field', async (_name, body, fields) => {
    const response = await auth.handler(
      post(ENDPOINTS.revokeUserSession.path, body, { cookie: admin.cookie }),
    )
    expect(response.status).toBe(400)
    const answer = await response.json()
    expect(answer.code).toBe('INVALID_INPUT')
    expect(answer.fields).toEqual(fields)
  })
})

describe('anyone else ends nothing', () => {
  const asUser = async (change: (session: TestSession) => Promise<void>, role = 'user') => {
    const session = await auth.signIn({ role })
    await change(session)
    return session.cookie
  }
  const setRole = (role: string) => async (session: TestSession) => {
    await auth.db.updateTable('user').set({ role }).where('id', '=', session.userId).execute()
  }

  test.each([
    ['nobody', 401, 'TOKEN_MISSING', async () => ''],
    ['a user', 403, 'ROLE_REQUIRED', () => asUser(async () => {})],
    ['a user with a role much like it', 403, 'ROLE_REQUIRED', () => asUser(async () => {}, 'Admin')],
    ['a user with two roles', 403, 'ROLE_REQUIRED', () => asUser(async () => {}, 'admin,user')],
    [
      'who was an admin when the JWT was issued',
      403,
      'ROLE_REQUIRED',
      () => asUser(setRole('user'), 'admin'),
    ],
    [
      'an admin who was signed out',
      401,
      'SESSION_NOT_FOUND',
      () => asUser((session) => auth.revoke(session), 'admin'),
    ],
    [
      'an admin whose session has expired',
      401,
      'SESSION_EXPIRED',
      () => asUser((session) => auth.expireSession(session), 'admin'),
    ],
    ['an admin who was banned', 403, 'ACCOUNT_BANNED', () => asUser((session) => auth.ban(session), 'admin')],
    ['an admin with an expired JWT', 401, 'TOKEN_EXPIRED', async () => (await auth.expireJwt(admin)).cookie],
    [
      'an admin with the session cookie alone',
      401,
      'TOKEN_MISSING',
      async () => `service.session=${admin.sessionCookie}`,
    ],
    [
      "an admin's JWT with another's session cookie",
      401,
      'TOKEN_INVALID',
      async () => `service.jwt=${admin.token}; service.session=${ada.sessionCookie}`,
    ],
  ])('%s: %i %s', async (_name, status, code, cookie) => {
    const response = await revoke(await cookie())
    expect({ status: response.status, code: (await response.json()).code }).toEqual({ status, code })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await isThere(ada)).toBe(true)
  })

  test('and learns nothing of what the endpoint takes', async () => {
    const user = await auth.signIn()
    for (const body of [undefined, {}, { sessionId: 1 }, []]) {
      const request = post(ENDPOINTS.revokeUserSession.path, body, { cookie: user.cookie })
      expect((await auth.handler(request)).status).toBe(403)
    }
  })
})

describe('an admin who was let in, and then', () => {
  test.each([
    [
      'was demoted, ends nothing',
      403,
      'ROLE_REQUIRED',
      async ({ userId }: TestSession) =>
        void (await auth.db.updateTable('user').set({ role: 'user' }).where('id', '=', userId).execute()),
    ],
    ['was signed out, ends nothing', 401, 'SESSION_NOT_FOUND', (root: TestSession) => auth.revoke(root)],
    ['was banned, ends nothing', 403, 'ACCOUNT_BANNED', (root: TestSession) => auth.ban(root)],
    [
      'has a session that expires, ends nothing',
      401,
      'SESSION_EXPIRED',
      (root: TestSession) => auth.expireSession(root),
    ],
  ])('%s: %i %s', async (_name, status, code, change) => {
    for (const [path, body] of [
      [ENDPOINTS.revokeUserSession.path, { sessionId: ada.sessionId }],
      [ENDPOINTS.revokeUserSessions.path, { userId: owner.userId }],
    ] as const) {
      const root = await auth.signIn({ role: 'admin' })
      const { sessions } = auth.database
      const meanwhile: typeof sessions = {
        ...sessions,
        async findSession(key) {
          const session = await sessions.findSession(key)
          await change(root)
          return session
        },
      }
      const database = { ...auth.database, sessions: meanwhile }
      const { handler } = await createAuth(auth.definition, database, { pruneEverySeconds: 0 })
      const response = await handler(post(path, body, { cookie: root.cookie }))
      expect({ status: response.status, code: (await response.json()).code }).toEqual({ status, code })
    }
    expect(await isThere(ada)).toBe(true)
  })
})

describe('all sessions of a user', () => {
  const revokeAll = (cookie: string, body: unknown) =>
    auth.handler(post(ENDPOINTS.revokeUserSessions.path, body, { ...(cookie !== '' && { cookie }) }))

  test('are ended by an admin and no others, and the cookies stay as they are', async () => {
    const bob = await auth.createUser()
    const sessions = [await auth.signIn(bob), await auth.signIn(bob)]
    const response = await revokeAll(admin.cookie, { userId: bob.userId })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ revoked: 2 })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await Promise.all(sessions.map(isThere))).toEqual([false, false])
    expect(await Promise.all([ada, admin].map(isThere))).toEqual([true, true])
  })

  test('are none where there is no such user', async () => {
    const response = await revokeAll(admin.cookie, { userId: 'nobody' })
    expect({ status: response.status, ...(await response.json()) }).toEqual({ status: 200, revoked: 0 })
  })

  test('are ended by nobody else', async () => {
    const user = await auth.signIn()
    for (const [cookie, status] of [
      ['', 401],
      [user.cookie, 403],
      [ada.cookie, 403],
    ] as const) {
      expect((await revokeAll(cookie, { userId: owner.userId })).status).toBe(status)
    }
    expect(await isThere(ada)).toBe(true)
  })

  test.each([
    [undefined, ['userId']],
    [{}, ['userId']],
    [{ userId: '' }, ['userId']],
    [{ userId: 'x'.repeat(129) }, ['userId']],
    [{ userId: ['x'] }, ['userId']],
    [{ userId: 'x', sessionId: 'y' }, ['sessionId']],
  ])('are meant by no %j', async (body, fields) => {
    const response = await revokeAll(admin.cookie, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields })
  })
})

test('a user who has become an admin may at once, with the JWT they have', async () => {
  const bob = await auth.signIn()
  expect((await revoke(bob.cookie)).status).toBe(403)
  await auth.db.updateTable('user').set({ role: 'admin' }).where('id', '=', bob.userId).execute()
  expect((await revoke(bob.cookie)).status).toBe(200)
})

test('with bearer transport an admin needs no cookie', async () => {
  const withBearer = await createTestAuth({ bearer: true })
  const [admin, ada] = [await withBearer.signIn({ role: 'admin' }), await withBearer.signIn()]
  const request = (headers: Record<string, string>) =>
    withBearer.handler(post(ENDPOINTS.revokeUserSession.path, { sessionId: ada.sessionId }, headers))
  const cookiesOfAdmin = { authorization: `Bearer ${ada.token}`, cookie: admin.cookie }
  expect((await request(cookiesOfAdmin)).status).toBe(403)
  expect((await request({ authorization: `Bearer ${admin.token}` })).status).toBe(200)
  await withBearer.close()
})
