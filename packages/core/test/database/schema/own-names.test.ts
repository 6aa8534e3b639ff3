import { ConfigurationError } from '@sallyport/core'
import { createAuth, defineAuth } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { organization } from '@sallyport/core/plugins/organization'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createIssuer } from '../../support/create-issuer.ts'
import { databaseKinds } from '../../support/database-kinds.ts'
import { PATIENT_SESSION } from '../../support/postgres.ts'
import { cookiesAfter, get, post } from '../../support/requests.ts'
import { until } from '../../support/until.ts'

/** The tokens of delivered invitations. */
const tokens: string[] = []
const { config, signingKeys } = await createIssuer({ session: PATIENT_SESSION })
const definition = defineAuth({
  config,
  signingKeys,
  plugins: [
    emailPassword(),
    admin(),
    organization({ deliverInvitation: async ({ token }) => void tokens.push(token) }),
  ],
  user: { additionalFields: { favoriteColor: { schema: z.string().nullable(), input: true } } },
})
const columns = columnsOf(definition)

const kinds = await databaseKinds({}, { poolSize: 2 })
const toSnake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

describe.each(kinds)('our endpoints on the snake_case tables of an app, $name', async (kind) => {
  const isSqlite = kind.name === 'SQLite'
  const schema = isSqlite ? '' : 'app.'
  const open = isSqlite ? openSqlite : openPostgres
  const names = {
    user: { table: `${schema}users`, columns: 'snake_case' },
    session: { table: `${schema}user_sessions`, columns: 'snake_case' },
    account: {
      table: `${schema}sign_ins`,
      columns: {
        userId: 'owner',
        accountId: 'external_id',
        providerId: 'provider',
        password: 'pw',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
    },
  } as const
  const renamed = new Map<string, string>(Object.entries(names.account.columns))

  const database = await kind.create()
  const first = await open(database.url, { columns })
  const before = await createAuth(definition, first, { pruneEverySeconds: 0 })
  before.close()
  await first.close()
  if (!isSqlite) await database.run('create schema app')
  for (const [table, { table: name }] of Object.entries(names)) {
    const plain = name.replace(schema, '')
    const list = isSqlite
      ? `select name from pragma_table_info('${table}')`
      : `select column_name as name from information_schema.columns where table_schema = 'public' and table_name = '${table}'`
    for (const { name: column } of await database.rows(list)) {
      const own = String(column)
      const to = table === 'account' ? (renamed.get(own) ?? own) : toSnake(own)
      if (to !== own) await database.run(`alter table "${table}" rename column "${own}" to "${to}"`)
    }
    await database.run(`alter table "${table}" rename to "${plain}"`)
    if (!isSqlite) await database.run(`alter table "${plain}" set schema app`)
  }

  const opened = await open(database.url, { columns, names, migrate: false })
  afterAll(opened.close)
  const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
  afterAll(auth.close)

  /** A browser. */
  function visitor() {
    let cookie = ''
    return {
      async call(name: keyof typeof ENDPOINTS, input: Record<string, unknown> = {}) {
        const { method, path } = ENDPOINTS[name]
        const search = new URLSearchParams(Object.entries(input).map(([key, value]) => [key, String(value)]))
        const request =
          method === 'GET' ? get(`${path}?${search}`, { cookie }) : post(path, input, { cookie })
        const response = await auth.handler(request, { remoteAddress: '192.0.2.1' })
        cookie = cookiesAfter(cookie, response)
        const text = await response.text()
        return { status: response.status, body: text === '' ? null : JSON.parse(text) }
      },
    }
  }
  let people = 0
  async function signUp() {
    const email = `p${people++}@example.com`
    const browser = visitor()
    const { status, body } = await browser.call('signUpEmail', {
      name: 'Ada',
      email,
      password: TEST_PASSWORD,
    })
    expect(status).toBe(200)
    return { ...browser, email, userId: String(body.userId), sessionId: String(body.sessionId) }
  }
  async function signIn(email: string, password = TEST_PASSWORD) {
    const browser = visitor()
    const { status, body } = await browser.call('signInEmail', { email, password })
    return { ...browser, status, sessionId: String(body.sessionId) }
  }

  test('sign up, sign in, refresh, and sign out', async () => {
    const ada = await signUp()
    expect(await ada.call('getSession')).toMatchObject({ status: 200, body: { user: { email: ada.email } } })
    expect((await ada.call('token')).status).toBe(200)
    expect((await ada.call('signOut')).status).toBe(200)
    expect((await ada.call('token')).status).toBe(401)
    expect((await signIn(ada.email, 'wrong password')).status).toBe(401)
    const again = await signIn(ada.email)
    expect([again.status, (await again.call('getSession')).status]).toEqual([200, 200])
  })

  test("list and revoke one's own sessions", async () => {
    const ada = await signUp()
    const [phone, tablet] = [await signIn(ada.email), await signIn(ada.email)]
    const { body } = await ada.call('listSessions')
    expect(body.sessions).toHaveLength(3)
    expect(body.sessions).toContainEqual(
      expect.objectContaining({ id: ada.sessionId, current: true, address: '192.0.2.1' }),
    )
    expect((await ada.call('revokeSession', { sessionId: phone.sessionId })).body).toEqual({ revoked: true })
    expect((await phone.call('getSession')).status).toBe(401)
    expect((await ada.call('revokeOtherSessions')).body).toEqual({ revoked: 1 })
    expect((await tablet.call('getSession')).status).toBe(401)
  })

  test('change the user, the password, and an added column', async () => {
    const ada = await signUp()
    const changed = await ada.call('updateUser', { name: 'Countess', favoriteColor: 'blue' })
    expect(changed).toMatchObject({
      status: 200,
      body: { user: { name: 'Countess', favoriteColor: 'blue' } },
    })
    const rows = await database.rows(`select favorite_color from ${schema}users where id = '${ada.userId}'`)
    expect(rows).toEqual([{ favorite_color: 'blue' }])
    const session = await opened.sessions.findSession(ada)
    expect(session).toMatchObject({ user: { name: 'Countess', favoriteColor: 'blue' } })
    const newPassword = 'another horse battery staple'
    const input = { currentPassword: TEST_PASSWORD, newPassword }
    expect((await ada.call('changePassword', input)).status).toBe(200)
    expect((await signIn(ada.email)).status).toBe(401)
    expect((await signIn(ada.email, newPassword)).status).toBe(200)
    expect((await ada.call('reauthenticate', { password: newPassword })).status).toBe(200)
    expect((await ada.call('deleteUser')).status).toBe(200)
    expect((await signIn(ada.email, newPassword)).status).toBe(401)
  })

  test('administer users, page by page', async () => {
    const [root, ada] = [await signUp(), await signUp()]
    await opened.db.updateTable('user').set({ role: 'admin' }).where('id', '=', root.userId).execute()
    const seen = new Set<string>()
    let cursor: string | undefined
    do {
      const { status, body } = await root.call('listUsers', { limit: 1, ...(cursor && { cursor }) })
      expect(status).toBe(200)
      for (const { id } of body.users) seen.add(id)
      cursor = body.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(seen.has(ada.userId) && seen.has(root.userId)).toBe(true)
    expect((await root.call('banUser', { userId: ada.userId, reason: 'spam' })).status).toBe(200)
    expect((await ada.call('getSession')).status).toBe(403)
    expect((await root.call('unbanUser', { userId: ada.userId })).status).toBe(200)
    expect((await root.call('setRole', { userId: ada.userId, role: 'admin' })).status).toBe(200)
    const { body } = await root.call('listAudit', { userId: ada.userId })
    expect(JSON.stringify(body)).toContain('user.role-changed')
  })

  test('publish a session that was deleted by hand', async () => {
    const ada = await signUp()
    let heard = 0
    const unsubscribe = opened.revocations.subscribe(ada, () => heard++)
    // The feed of a file reports all sessions once, when it starts.
    await until(() => !isSqlite || heard > 0)
    const heardBefore = heard
    await database.run(`delete from ${schema}user_sessions where id = '${ada.sessionId}'`)
    await until(() => heard > heardBefore)
    unsubscribe()
    expect((await ada.call('getSession')).status).toBe(401)
  })

  test('create organizations, and change memberships', async () => {
    const [ada, bob] = [await signUp(), await signUp()]
    const activeOf = async ({ call }: typeof ada) => {
      const { session } = (await call('getSession')).body
      return [session.activeOrganizationId, session.activeOrganizationRole]
    }
    const { id: organizationId } = (await ada.call('createOrganization', { name: 'Acme' })).body.organization
    expect(await activeOf(ada)).toEqual([organizationId, 'owner'])
    const invitation = { organizationId, email: bob.email, role: 'member' }
    expect((await ada.call('inviteMember', invitation)).status).toBe(200)
    const { invitations } = (await ada.call('listInvitations', { organizationId })).body
    expect(invitations).toMatchObject([{ email: bob.email, inviterId: ada.userId }])
    await until(() => tokens.length > 0)
    expect((await bob.call('acceptInvitation', { token: tokens.pop() })).status).toBe(200)
    const { members } = (await bob.call('listMembers', { organizationId })).body
    expect(members).toMatchObject([
      { userId: ada.userId, email: ada.email, role: 'owner' },
      { userId: bob.userId, email: bob.email, role: 'member' },
    ])
    expect(await activeOf(bob)).toEqual([organizationId, 'member'])
    const member = { organizationId, userId: bob.userId }
    expect((await ada.call('setMemberRole', { ...member, role: 'admin' })).status).toBe(200)
    expect(await activeOf(bob)).toEqual([organizationId, 'admin'])
    await database.run(`delete from member where "userId" = '${bob.userId}'`)
    expect(await activeOf(bob)).toEqual([null, null])
    const { organization: own } = (await bob.call('createOrganization', { name: 'Own' })).body
    expect(await activeOf(bob)).toEqual([own.id, 'owner'])
    expect((await ada.call('deleteUser')).status).toBe(200)
  })

  test('prune what has expired', async () => {
    const ada = await signUp()
    const past = new Date(Date.now() - 60_000)
    await opened.db.updateTable('session').set({ expiresAt: past }).where('id', '=', ada.sessionId).execute()
    await auth.prune()
    expect(
      await database.rows(`select id from ${schema}user_sessions where id = '${ada.sessionId}'`),
    ).toEqual([])
  })

  test('select columns under our names', async () => {
    const ada = await signUp()
    const { db } = opened
    const one = db.selectFrom('user as u').innerJoin('account', 'account.userId', 'u.id')
    const joined = one
      .select(['u.emailVerified', 'account.providerId', 'accountId'])
      .where('u.id', '=', ada.userId)
    expect(await joined.executeTakeFirst()).toMatchObject({ providerId: 'credential', accountId: ada.userId })
    const all = db.selectFrom('account').selectAll('account').where('userId', '=', ada.userId)
    expect(await all.executeTakeFirst()).toMatchObject({ userId: ada.userId, providerId: 'credential' })
    const updated = db.updateTable('user').set({ banReason: 'test' }).where('id', '=', ada.userId)
    expect(await updated.returning(['banReason as why', 'emailVerified']).executeTakeFirst()).toMatchObject({
      why: 'test',
      emailVerified: expect.anything(),
    })
    const nested = db
      .selectFrom('user')
      .select('email')
      .where(({ exists, selectFrom }) =>
        exists(selectFrom('session').select('id').whereRef('session.userId', '=', 'user.id')),
      )
      .where('id', '=', ada.userId)
    expect(await nested.executeTakeFirst()).toEqual({ email: ada.email })
  })

  test('add no columns or tables', async () => {
    await expect(database.rows(`select "favoriteColor" from ${schema}users limit 0`)).rejects.toThrow()
    await expect(database.rows('select * from account')).rejects.toThrow()
  })

  test('need a tool of the app that migrates, and every column', async () => {
    const opening = async (options: object) => open(database.url, { columns, names, ...options })
    await expect(opening({})).rejects.toThrow('migrate: false')
    const more = { user: { ...columns.user, shoeSize: { type: 'number' } }, session: {} }
    const missing = `${schema}users.shoe_size`
    await expect(opening({ migrate: false, columns: more })).rejects.toThrow(missing)
  })

  test('reject a column that we do not have', async () => {
    const misspelled = { user: { columns: { emailVerifed: 'email_verified' } } }
    const opening = async () => open(database.url, { columns, names: misspelled, migrate: false })
    await expect(opening()).rejects.toThrow(ConfigurationError)
    await expect(opening()).rejects.toThrow('user.columns.emailVerifed')
  })
})
