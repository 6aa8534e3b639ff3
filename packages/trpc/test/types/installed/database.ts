import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { type AuthTables, authColumns } from './generated/database.ts'
import { databaseUrl } from './settings.ts'

/** The app's tables, and those of its auth definition. */
export interface Tables extends AuthTables {
  note: { userId: string; text: string }
}

export const database = await openSqlite<Tables>(databaseUrl, { columns: authColumns })

await database.db.schema
  .createTable('note')
  .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
  .addColumn('text', 'text', (column) => column.notNull())
  .execute()

/** Opens the other database. */
export const openOnPostgres = (url: string) => openPostgres<Tables>(url, { columns: authColumns })
