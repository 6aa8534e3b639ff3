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
  test('ends a session of any user, and the cookies stay unchanged', async () => {
    const response = await revoke(admin.cookie)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ revoked: true })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await isThere(ada)).toBe(false)
  })

  test('ends only the given session', async () => {
    const other = await auth.signIn({ userId: owner.userId })
    await revoke(admin.cookie)
    expect(await isThere(other)).toBe(true)
    expect(await isThere(admin)).toBe(true)
  })

  test('leaves a record of the admin', async () => {
    await revoke(admin.cookie)
    const records = auth.db
      .selectFrom('sallyport.audit')
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

  test('gets `revoked: false` if there was no session to end', async () => {
    await revoke(admin.cookie)
    expect(await (await revoke(admin.cookie)).json()).toEqual({ revoked: false })
    expect(await (await revoke(admin.cookie, { sessionId: "' or 1=1 --" })).json()).toEqual({
      revoked: false,
    })
  })

  test('may end their own session', async () => {
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
    ['more fields than allowed', { sessionId: 'x', userId: 'y' }, ['userId']],
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

describe('all sessions of a user', () => {
  const revokeAll = (cookie: string, body: unknown) =>
    auth.handler(post(ENDPOINTS.revokeUserSessions.path, body, { ...(cookie !== '' && { cookie }) }))

  test('are ended by an admin, and no others, and the cookies stay unchanged', async () => {
    const bob = await auth.createUser()
    const sessions = [await auth.signIn(bob), await auth.signIn(bob)]
    const response = await revokeAll(admin.cookie, { userId: bob.userId })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ revoked: 2 })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await Promise.all(sessions.map(isThere))).toEqual([false, false])
    expect(await Promise.all([ada, admin].map(isThere))).toEqual([true, true])
  })

  test('are none for a missing user', async () => {
    const response = await revokeAll(admin.cookie, { userId: 'nobody' })
    expect({ status: response.status, ...(await response.json()) }).toEqual({ status: 200, revoked: 0 })
  })
})

test('a user who has just become an admin may end them at once, with their current JWT', async () => {
  const bob = await auth.signIn()
  expect((await revoke(bob.cookie)).status).toBe(403)
  await auth.db.updateTable('user').set({ role: 'admin' }).where('id', '=', bob.userId).execute()
  expect((await revoke(bob.cookie)).status).toBe(200)
})
