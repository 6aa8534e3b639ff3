import type { TestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'

/** The rows of every table by its name. */
export type Dump = Record<string, Record<string, unknown>[]>

/** Everything that is stored, to see that nothing has changed. Records of failed sign-ins are left out: a refusal may leave one. */
export async function dumpTables({ db }: Pick<TestAuth, 'db'>): Promise<Dump> {
  const tables = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db)
  const dump: Dump = {}
  for (const { name } of tables.rows) {
    const { rows } = await sql<
      Record<string, unknown>
    >`select * from ${sql.table(name)} order by rowid`.execute(db)
    dump[name] = rows.filter(({ type }) => name !== 'audit' || type !== 'sign-in.failed')
  }
  return dump
}

/** The rows of one user, and of their sessions and accounts. */
export function rowsOf(userId: string, { user = [], session = [], account = [] }: Dump): Dump {
  const isTheirs = (row: Record<string, unknown>) => row.userId === userId
  return {
    user: user.filter(({ id }) => id === userId),
    session: session.filter(isTheirs),
    account: account.filter(isTheirs),
  }
}
