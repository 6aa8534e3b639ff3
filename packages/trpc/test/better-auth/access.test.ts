import { type Session, sessionsOf } from '@sallyport/core'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { admin, organization } from 'better-auth/plugins'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'

const base = {
  baseURL: 'http://localhost:3000',
  secret: 'a-secret-of-at-least-32-characters-for-tests',
  database: new SqliteDatabase(':memory:'),
}
const session: Session & { activeOrganizationRole: string } = {
  id: 's',
  userId: 'u',
  expiresAt: new Date(8.64e15),
  lastAuthenticatedAt: '',
  version: null,
  rotatedAt: null,
  issuer: null,
  amr: null,
  acr: null,
  activeOrganizationRole: 'owner',
  user: { id: 'u', name: 'Ada', email: 'ada@example.com', role: 'admin' },
}

test('without roles of its own, the default roles of each plugin give permissions; without it, none do', () => {
  const allowed = ({ config }: ReturnType<typeof betterAuthGuard>) => [
    config.hasPermissions(session, { permissions: { user: ['ban'] }, of: 'user' }),
    config.hasPermissions(session, { permissions: { member: ['delete'] }, of: 'organization' }),
    config.hasPermissions(session, { permissions: {}, of: 'user' }),
  ]
  const plugins = [admin(), organization()]
  expect(allowed(betterAuthGuard(betterAuth({ ...base, plugins })))).toEqual([true, true, false])
  expect(allowed(betterAuthGuard(betterAuth(base)))).toEqual([false, false, false])
})

test('a freshAge of 0 means no limit, and the default is a day', () => {
  const freshFor = (session = {}) => betterAuthGuard(betterAuth({ ...base, session })).config.freshForSeconds
  expect([freshFor({ freshAge: 0 }), freshFor()]).toEqual([Number.POSITIVE_INFINITY, 24 * 60 * 60])
})

test.each(['our statement', 'the adapter'])(
  '%s gives a user without a role the default role',
  async (reader) => {
    const database = new SqliteDatabase(':memory:')
    const score = { type: 'number', required: false, transform: { output: () => 1 } } as const
    const user = reader === 'the adapter' ? { additionalFields: { score } } : {}
    const options = { ...base, database, user, plugins: [admin({ defaultRole: 'reader' })] }
    await (await getMigrations(options)).runMigrations()
    const auth = betterAuth(options)
    const { internalAdapter } = await auth.$context
    const ada = await internalAdapter.createUser({ name: 'Ada', email: 'a@example.com' }, { method: 'POST' })
    const { id } = await internalAdapter.createSession(ada.id)
    const sessions = sessionsOf(betterAuthGuard(auth).attach(database))
    for (const role of [null, '', 'admin']) {
      database.prepare('update user set role = ?').run(role)
      const found = await sessions.findSession({ sessionId: id, userId: ada.id })
      expect(found?.user.role).toBe(role || 'reader')
    }
  },
)
