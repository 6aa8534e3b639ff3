import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cookieChanges, get } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
afterEach(() => auth.db.deleteFrom('user').execute())

let root: TestSession
beforeEach(async () => {
  root = await auth.signIn({ role: 'admin' })
})

const call = (path: string, query: Record<string, string>, cookie = root.cookie) =>
  auth.handler(get(`${path}?${new URLSearchParams(query)}`, { cookie }))
const listUsers = (query: Record<string, string> = {}) => call(ENDPOINTS.listUsers.path, query)
const idsOf = async (response: Response): Promise<string[]> =>
  (await response.json()).users.map(({ id }: { id: string }) => id)
const named = async (name: string, email?: string) => {
  const { userId } = await auth.createUser()
  await auth.db
    .updateTable('user')
    .set({ name, ...(email !== undefined && { email }) })
    .where('id', '=', userId)
    .execute()
  return userId
}

describe('GET /admin/list-users', () => {
  test('returns what an admin may know about a user, without passwords and sessions', async () => {
    auth.clock.advance(1)
    const { userId, email } = await auth.createUser()
    const banExpires = new Date(auth.clock.now().getTime() + 60_000)
    await auth.db
      .updateTable('user')
      .set({ banned: true, banReason: 'spam', banExpires, emailVerified: true })
      .where('id', '=', userId)
      .execute()
    const response = await listUsers({ limit: '1' })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await response.json()).toEqual({
      users: [
        {
          id: userId,
          name: 'Test User',
          email,
          emailVerified: true,
          image: null,
          role: 'user',
          createdAt: auth.clock.now().toISOString(),
          banned: true,
          banReason: 'spam',
          banExpires: banExpires.toISOString(),
        },
      ],
      nextCursor: expect.any(String),
    })
  })

  test('lists the newest first', async () => {
    const ids = [root.userId]
    for (let i = 0; i < 3; i++) {
      auth.clock.advance(1)
      ids.unshift((await auth.createUser()).userId)
    }
    expect(await idsOf(await listUsers())).toEqual(ids)
  })

  test('has pages of 50 by default', async () => {
    for (let i = 0; i < 50; i++) await auth.createUser()
    const { users, nextCursor } = await (await listUsers()).json()
    expect(users).toHaveLength(50)
    expect(nextCursor).not.toBeNull()
  })

  test("continues after a user whose createdAt was changed by hand to text that can't be read", async () => {
    await auth.db.updateTable('user').set({ createdAt: sql`'long ago'` }).execute()
    const { userId } = await auth.createUser()
    const { users, nextCursor } = await (await listUsers({ limit: '1' })).json()
    expect(users).toMatchObject([{ id: root.userId, createdAt: '' }])
    expect(await idsOf(await listUsers({ limit: '1', cursor: nextCursor }))).toEqual([userId])
  })

  describe('finds part of an email or a name', () => {
    test.each([
      // Never search for hexadecimal digits alone: the other users' addresses contain them.
      ['lovelace', ['Ada Lovelace', 'Grace Hopper']],
      ['LOVE', ['Ada Lovelace', 'Grace Hopper']],
      ['countess', ['Ada Lovelace']],
      [' hopper ', ['Grace Hopper']],
      ['navy.example', ['Grace Hopper']],
      ['Élodie', ['Élodie']],
      ['ÉLODIE', ['Élodie']],
      ['李', ['李小龍']],
      ['%', ['100%']],
      ['_', ['snake_case']],
      ['\\', ['back\\slash']],
      ["'", ["O'Brien"]],
      ["' or 1=1 --", []],
      ['nobody', []],
    ])('%j', async (search, names) => {
      const users = [
        await named('Ada Lovelace', 'countess@math.example'),
        await named('Grace Hopper', 'lovelace.fan@navy.example'),
        await named('Élodie'),
        await named('李小龍'),
        await named('100%'),
        await named('snake_case'),
        await named('back\\slash'),
        await named("O'Brien"),
      ]
      const found = (await (await listUsers({ search })).json()).users
      expect(found.map(({ name }: { name: string }) => name).sort()).toEqual([...names].sort())
      expect(users).toHaveLength(8)
    })

    test('and every user if it is empty', async () => {
      await named('Ada')
      expect(await idsOf(await listUsers({ search: ' ' }))).toHaveLength(2)
    })
  })

  test.each([
    [{ limit: '0' }, ['limit']],
    [{ limit: '101' }, ['limit']],
    [{ limit: '-1' }, ['limit']],
    [{ limit: '1.5' }, ['limit']],
    [{ limit: 'ten' }, ['limit']],
    [{ limit: '' }, ['limit']],
    [{ search: 'x'.repeat(321) }, ['search']],
    [{ search: 'a\0' }, ['search']],
    [{ cursor: '' }, ['cursor']],
    [{ cursor: 'x' }, ['cursor']],
    [{ cursor: 'x_y' }, ['cursor']],
    [{ cursor: '_' }, ['cursor']],
    [{ cursor: '2026-01-01T00:00:00.000Z_\0' }, ['cursor']],
    [{ cursor: '+275760-09-13T00:00:00.000Z_x' }, ['cursor']],
    [{ cursor: 'x'.repeat(201) }, ['cursor']],
    [{ offset: '1' }, ['offset']],
    [{ role: 'admin' }, ['role']],
  ])('%j is 400', async (query, fields) => {
    const response = await listUsers(query)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields })
  })
})

describe('GET /admin/list-user-sessions', () => {
  const list = (userId: string, cookie?: string) => call(ENDPOINTS.listUserSessions.path, { userId }, cookie)

  test("lists any user's sessions, with the members that the user sees and never a token", async () => {
    const user = await auth.createUser()
    const [ada, elsewhere] = [await auth.signIn(user), await auth.signIn(user)]
    const response = await list(user.userId)
    const text = await response.text()
    const { sessions } = JSON.parse(text)
    const own = await auth.handler(get(ENDPOINTS.listSessions.path, { cookie: ada.cookie }))
    const asSeenByUser = (await own.json()).sessions.map((session: object) => ({
      ...session,
      current: false,
    }))
    expect(sessions).toEqual(asSeenByUser)
    expect(sessions).toHaveLength(2)
    const rows = await auth.db.selectFrom('session').select('token').execute()
    for (const { token } of rows) expect(text).not.toContain(token)
    for (const { sessionCookie } of [ada, elsewhere]) expect(text).not.toContain(sessionCookie.split('.')[1])
  })

  test('marks the current one among their own', async () => {
    const { sessions } = await (await list(root.userId)).json()
    expect(sessions).toMatchObject([{ id: root.sessionId, current: true }])
  })

  test('including those of a banned user, and none for a missing user', async () => {
    const ada = await auth.signIn()
    await auth.ban(ada)
    expect((await (await list(ada.userId)).json()).sessions).toMatchObject([{ id: ada.sessionId }])
    expect(await (await list(crypto.randomUUID())).json()).toEqual({ sessions: [] })
  })

  test('omits expired sessions', async () => {
    const ada = await auth.signIn()
    await auth.expireSession(ada)
    expect(await (await list(ada.userId)).json()).toEqual({ sessions: [] })
  })

  test.each<[Record<string, string>, string]>([
    [{}, '400 INVALID_INPUT'],
    [{ userId: '' }, '400 INVALID_INPUT'],
    [{ userId: 'x'.repeat(129) }, '400 INVALID_INPUT'],
    [{ userId: 'x', sessionId: 'y' }, '400 INVALID_INPUT'],
  ])('%j is %s', async (query, answer) => {
    expect(await statusOf(call(ENDPOINTS.listUserSessions.path, query))).toBe(answer)
  })
})

describe('GET /admin/list-user-factors', () => {
  const list = (userId: string) => call(ENDPOINTS.listUserFactors.path, { userId })

  test('lists the password and the providers, but no password that was removed', async () => {
    const { userId } = await auth.createUser()
    auth.clock.advance(1)
    const at = auth.clock.now()
    const moments = { createdAt: at, updatedAt: at }
    const github = { id: crypto.randomUUID(), userId, providerId: 'github', accountId: 'x', password: null }
    await auth.db
      .insertInto('account')
      .values({ ...github, ...moments })
      .execute()
    const accounts = async () => (await (await list(userId)).json()).accounts
    expect(await accounts()).toEqual([
      { provider: 'credential', createdAt: expect.any(String) },
      { provider: 'github', createdAt: at.toISOString() },
    ])
    const passwords = auth.db.updateTable('account').set({ password: null })
    await passwords.where('userId', '=', userId).execute()
    expect(await accounts()).toMatchObject([{ provider: 'github' }])
    const changed = auth.db.updateTable('account').set({ createdAt: sql`'long ago'` })
    await changed.where('id', '=', github.id).execute()
    expect(await accounts()).toEqual([{ provider: 'github', createdAt: '' }])
  })

  test('lists nothing for a missing user, and records the read', async () => {
    const userId = crypto.randomUUID()
    expect(await (await list(userId)).json()).toEqual({ accounts: [], factors: [] })
    const records = auth.db.selectFrom('sallyport.audit').select(['type', 'actorId'])
    const recorded = await records.where('userId', '=', userId).execute()
    expect(recorded).toEqual([{ type: 'admin.factors-listed', actorId: root.userId }])
  })
})
