import type { AuthDatabase } from '@sallyport/core'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import type { Kysely } from 'kysely'
import { type AuthTables, authColumns } from './generated/database.ts'
import { holds, type Same } from './same.ts'

/** The app's own tables beside those of auth. */
interface Tables extends AuthTables {
  report: { id: string; title: string }
}

/** Both databases have the added columns, and the types say so. */
export async function open(): Promise<readonly AuthDatabase[]> {
  const sqlite = await openSqlite<Tables>(':memory:', { columns: authColumns })
  const postgres = await openPostgres<Tables>('postgres://localhost/app', { columns: authColumns })
  await read(sqlite.db)
  return [sqlite.db, postgres.db]
}

async function read(db: Kysely<Tables>): Promise<void> {
  const user = await db.selectFrom('user').select(['locale', 'credits', 'email']).executeTakeFirstOrThrow()
  holds<Same<typeof user, { locale: string; credits: number; email: string }>>()
  const session = await db.selectFrom('session').select(['theme', 'impersonatedBy']).executeTakeFirstOrThrow()
  holds<Same<typeof session, { theme: string | null; impersonatedBy: string | null }>>()
  const member = await db.selectFrom('member').select(['role', 'organizationId']).executeTakeFirstOrThrow()
  holds<Same<typeof member, { role: string; organizationId: string }>>()
  await db.insertInto('report').values({ id: 'r1', title: 'One' }).execute()
  await db.updateTable('user').set({ credits: 2 }).execute()
  // @ts-expect-error no plugin adds it
  db.selectFrom('user').select('nickname')
  // @ts-expect-error there is no such table
  db.selectFrom('note')
  // @ts-expect-error credits are a number
  db.updateTable('user').set({ credits: 'many' })
}
