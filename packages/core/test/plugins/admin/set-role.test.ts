import { createAuth, defineAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { readAudit } from '../../support/read-audit.ts'
import { cookieChanges, get, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { subscribeToSession } from '../../support/subscribe-to-session.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
afterEach(() => auth.db.deleteFrom('user').execute())

let root: TestSession
let ada: TestSession
beforeEach(async () => {
  root = await auth.signIn({ role: 'admin' })
  ada = await auth.signIn()
})

const setRole = (body: unknown, cookie = root.cookie, handler = auth.handler) =>
  handler(post(ENDPOINTS.setRole.path, body, { cookie }))
const listUsers = ({ cookie }: TestSession) =>
  statusOf(auth.handler(get(ENDPOINTS.listUsers.path, { cookie })))
const roleOf = async ({ userId }: TestSession) =>
  (await auth.db.selectFrom('user').select('role').where('id', '=', userId).executeTakeFirstOrThrow()).role

test("a role applies from the next call, with the user's current JWT", async () => {
  expect(await listUsers(ada)).toBe('403 ROLE_REQUIRED')
  const response = await setRole({ userId: ada.userId, role: 'admin' })
  expect(await response.json()).toEqual({ success: true })
  expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  expect(await listUsers(ada)).toBe('200')
  await setRole({ userId: ada.userId, role: 'user' })
  expect(await listUsers(ada)).toBe('403 ROLE_REQUIRED')
})

test('the session and its JWT stay unchanged', async () => {
  const session = () => auth.db.selectFrom('session').selectAll().where('id', '=', ada.sessionId).execute()
  const before = await session()
  await setRole({ userId: ada.userId, role: 'admin' })
  expect(await session()).toEqual(before)
})

test("only the user's live streams validate again", async () => {
  const [hers, admins] = [subscribeToSession(auth, ada), subscribeToSession(auth, root)]
  await setRole({ userId: ada.userId, role: 'admin' })
  expect(hers).toHaveBeenCalledOnce()
  expect(admins).not.toHaveBeenCalled()
})

test('records the admin and the role', async () => {
  await setRole({ userId: ada.userId, role: 'admin' })
  expect((await readAudit(auth, ada.userId)).at(-1)).toEqual({
    type: 'user.role-changed',
    sessionId: null,
    actorId: root.userId,
    address: null,
    from: 'user',
    to: 'admin',
  })
})

test("a role that the user has isn't recorded as a change", async () => {
  const before = await dumpTables(auth)
  expect(await statusOf(setRole({ userId: ada.userId, role: 'user' }))).toBe('200')
  expect(await dumpTables(auth)).toEqual(before)
})

describe('no admin can change their own role', () => {
  test.each(['user', 'admin'])('to %s', async (role) => {
    await auth.createUser({ role: 'admin' })
    const before = await dumpTables(auth)
    expect(await statusOf(setRole({ userId: root.userId, role }))).toBe('409 OWN_ACCOUNT')
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('one admin remains if two demote each other at the same time', async () => {
    for (let i = 0; i < 10; i++) {
      const other = await auth.signIn({ role: 'admin' })
      const answers = await Promise.all([
        statusOf(setRole({ userId: other.userId, role: 'user' }, root.cookie)),
        statusOf(setRole({ userId: root.userId, role: 'user' }, other.cookie)),
      ])
      expect(answers.sort()).toEqual(['200', '403 ROLE_REQUIRED'])
      expect([await roleOf(root), await roleOf(other)].sort()).toEqual(['admin', 'user'])
      await auth.db.updateTable('user').set({ role: 'admin' }).where('id', '=', root.userId).execute()
    }
  })

  test('also with three in a circle', async () => {
    const [second, third] = [await auth.signIn({ role: 'admin' }), await auth.signIn({ role: 'admin' })]
    const all = [root, second, third]
    await Promise.all(
      all.map(({ cookie }, i) => setRole({ userId: all[(i + 1) % 3]?.userId, role: 'user' }, cookie)),
    )
    const roles = await Promise.all(all.map(roleOf))
    expect(roles.filter((role) => role === 'admin').length).toBeGreaterThan(0)
  })
})

test.each<[unknown, readonly string[]]>([
  [{}, ['userId', 'role']],
  [{ userId: 'x' }, ['role']],
  [{ userId: '', role: 'user' }, ['userId']],
  [{ userId: 'x'.repeat(129), role: 'user' }, ['userId']],
  [{ userId: 'x', role: '' }, ['role']],
  [{ userId: 'x', role: 'Admin' }, ['role']],
  [{ userId: 'x', role: 'admin ' }, ['role']],
  [{ userId: 'x', role: 'admin,user' }, ['role']],
  [{ userId: 'x', role: 'owner' }, ['role']],
  [{ userId: 'x', role: 'constructor' }, ['role']],
  [{ userId: 'x', role: ['admin'] }, ['role']],
  [{ userId: 'x', role: null }, ['role']],
  [{ userId: 'x', role: 'user', banned: true }, ['banned']],
])('%j is 400', async (body, fields) => {
  const before = await dumpTables(auth)
  const response = await setRole(body)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields })
  expect(await dumpTables(auth)).toEqual(before)
})

test('a role for a missing user is 404, and leaves no record', async () => {
  const before = await dumpTables(auth)
  expect(await statusOf(setRole({ userId: crypto.randomUUID(), role: 'admin' }))).toBe('404 USER_NOT_FOUND')
  expect(await dumpTables(auth)).toEqual(before)
})

test('an app defines the roles', async () => {
  const { config, signingKeys } = auth.definition
  const definition = defineAuth({
    config,
    signingKeys,
    plugins: [admin({ roles: ['user', 'editor', 'admin'] })],
  })
  const { handler } = await createAuth(definition, auth.database, { pruneEverySeconds: 0 })
  const give = (role: string) => statusOf(setRole({ userId: ada.userId, role }, root.cookie, handler))
  expect(await give('editor')).toBe('200')
  expect(await roleOf(ada)).toBe('editor')
  expect(await give('owner')).toBe('400 INVALID_INPUT')
  expect(await roleOf(ada)).toBe('editor')
})
