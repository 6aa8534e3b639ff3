import { ENDPOINT_PATHS } from '@sallyport/core/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { cookieChanges, post } from '../support/requests.ts'

const auth = await createTestAuth()
const owner = await auth.createUser()
const admin = await auth.signIn({ role: 'admin' })
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn({ userId: owner.userId })
})

const revoke = (cookie: string, body: unknown = { sessionId: ada.sessionId }) =>
  auth.handler(post(ENDPOINT_PATHS.revokeUserSession, body, { ...(cookie !== '' && { cookie }) }))
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
    ['no body', undefined, undefined],
    ['no session id', {}, ['sessionId']],
    ['an empty session id', { sessionId: '' }, ['sessionId']],
    ['a session id of 129 characters', { sessionId: 'x'.repeat(129) }, ['sessionId']],
    ['a number', { sessionId: 1 }, ['sessionId']],
    ['a list', { sessionId: ['x'] }, ['sessionId']],
    ['more than it takes', { sessionId: 'x', userId: 'y' }, ['userId']],
  ])('who sends %s gets 400 and the field', async (_name, body, fields) => {
    const response = await auth.handler(
      post(ENDPOINT_PATHS.revokeUserSession, body, { cookie: admin.cookie }),
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
      const request = post(ENDPOINT_PATHS.revokeUserSession, body, { cookie: user.cookie })
      expect((await auth.handler(request)).status).toBe(403)
    }
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
    withBearer.handler(post(ENDPOINT_PATHS.revokeUserSession, { sessionId: ada.sessionId }, headers))
  const cookiesOfAdmin = { authorization: `Bearer ${ada.token}`, cookie: admin.cookie }
  expect((await request(cookiesOfAdmin)).status).toBe(403)
  expect((await request({ authorization: `Bearer ${admin.token}` })).status).toBe(200)
  await withBearer.close()
})
