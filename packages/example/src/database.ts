import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { DEMO_PASSWORD, DEMO_USERS } from './demo.ts'
import { env, hasDemoUsers } from './env.ts'
import { type AuthTables, authColumns } from './generated/database.ts'

/** The tables of this app and of its auth definition. */
interface AppTables extends AuthTables {
  note: { id: string; userId: string; text: string; createdAt: string }
  apiKey: { userId: string; hash: string; createdAt: string }
  report: { id: string; userId: string; title: string; text: string; createdAt: string }
}

const options = { columns: authColumns }

export const database = env.DATABASE_URL.startsWith('postgres')
  ? await openPostgres<AppTables>(env.DATABASE_URL, options)
  : await openSqlite<AppTables>(env.DATABASE_URL, options)
export const { db } = database

await db.schema
  .createTable('note')
  .ifNotExists()
  .addColumn('id', 'text', (column) => column.primaryKey())
  .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
  .addColumn('text', 'text', (column) => column.notNull())
  .addColumn('createdAt', 'text', (column) => column.notNull())
  .execute()
await db.schema.createIndex('note_userId').ifNotExists().on('note').column('userId').execute()
await db.schema
  .createTable('apiKey')
  .ifNotExists()
  .addColumn('userId', 'text', (column) => column.primaryKey().references('user.id').onDelete('cascade'))
  .addColumn('hash', 'text', (column) => column.notNull())
  .addColumn('createdAt', 'text', (column) => column.notNull())
  .execute()
await db.schema
  .createTable('report')
  .ifNotExists()
  .addColumn('id', 'text', (column) => column.notNull())
  .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
  .addColumn('title', 'text', (column) => column.notNull())
  .addColumn('text', 'text', (column) => column.notNull())
  .addColumn('createdAt', 'text', (column) => column.notNull())
  // Clients choose the ids, so they are only unique per user.
  .addPrimaryKeyConstraint('report_key', ['userId', 'id'])
  .execute()

if (hasDemoUsers) await createDemoUsers()
else await rejectDemoUsers()

/** Stops the process if the database has the demo users, whose password is public. */
async function rejectDemoUsers(): Promise<void> {
  const emails = DEMO_USERS.map(({ email }) => email)
  const found = await db.selectFrom('user').select('email').where('email', 'in', emails).execute()
  if (found.length === 0) return
  console.error(
    'This database has the demo users, whose password is public. Set DATABASE_URL to another database, such as file:data/production.db.',
  )
  process.exit(1)
}

async function createDemoUsers(): Promise<void> {
  const existing = await db.selectFrom('user').select('email').execute()
  for (const user of DEMO_USERS) {
    if (existing.some(({ email }) => email === user.email)) continue
    await createPasswordAccount(database, { ...user, password: DEMO_PASSWORD, now: new Date() })
  }
}
