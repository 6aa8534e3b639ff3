import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { admin, bearer, organization } from 'better-auth/plugins'
import { createAccessControl } from 'better-auth/plugins/access'
import { adminAc, defaultStatements } from 'better-auth/plugins/admin/access'
import SqliteDatabase from 'better-sqlite3'

const access = createAccessControl({ ...defaultStatements, project: ['create', 'read', 'delete'] })
const memberAccess = createAccessControl({ invoice: ['read', 'pay'] })

/** Users who are admins by the configuration. Tests add to it. */
export const adminUserIds: string[] = []

export const database: SqliteDatabase.Database = new SqliteDatabase(':memory:')

export const auth = betterAuth({
  baseURL: 'http://localhost:3000',
  secret: 'a-secret-of-at-least-32-characters-for-tests',
  trustedOrigins: ['https://pages.example.com', 'myapp://', 'exp://**'],
  database,
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  session: { freshAge: 600, additionalFields: { theme: { type: 'string', required: false } } },
  user: { additionalFields: { locale: { type: 'string', defaultValue: 'en' } } },
  plugins: [
    admin({
      ac: access,
      adminUserIds,
      roles: {
        admin: access.newRole({ ...adminAc.statements, project: ['create', 'read', 'delete'] }),
        editor: access.newRole({ project: ['create', 'read'] }),
        user: access.newRole({ project: ['read'] }),
      },
    }),
    organization({
      ac: memberAccess,
      roles: {
        owner: memberAccess.newRole({ invoice: ['read', 'pay'] }),
        reader: memberAccess.newRole({ invoice: ['read'] }),
      },
    }),
    bearer(),
  ],
})

export async function migrate(): Promise<void> {
  await (await getMigrations(auth.options)).runMigrations()
}
