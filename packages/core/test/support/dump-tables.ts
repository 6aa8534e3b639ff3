import { isDeepStrictEqual } from 'node:util'
import type { TestAuth } from '@sallyport/core/testing'
import { type CompiledQuery, sql } from 'kysely'
import { expect } from 'vitest'

/** The rows of every table by its name. */
export type Dump = Record<string, Record<string, unknown>[]>

type TestDb = TestAuth['db']

/** A row of any table, as JSON. */
interface AnyRow {
  readonly name: string
  readonly content: string
}

/** The query that reads all tables at once, kept while they stay the same. */
interface Reading {
  readonly version: unknown
  readonly query: CompiledQuery<AnyRow>
  readonly tables: readonly string[]
}

const readings = new WeakMap<TestDb, Reading>()

/**
 * Returns everything stored, to check that nothing has changed. Omits records of failed sign-ins, because a
 * rejection may leave one.
 */
export async function dumpTables({ db }: Pick<TestAuth, 'db'>): Promise<Dump> {
  const { tables, query } = await readingOf(db)
  const dump: Dump = Object.fromEntries(tables.map((name) => [name, []]))
  const { rows } = await db.executeQuery(query)
  for (const { name, content } of rows) {
    const row: Record<string, unknown> = JSON.parse(content)
    if (name !== 'sallyport_audit' || row.type !== 'sign-in.failed') dump[name]?.push(row)
  }
  return dump
}

/**
 * Throws if anything has changed, other than the tables in `except`. Compares text first: comparing thousands
 * of rows member by member takes seconds.
 */
export async function expectUnchanged(
  auth: Pick<TestAuth, 'db'>,
  dump: Dump,
  { except = [] }: { except?: readonly string[] } = {},
): Promise<void> {
  const [now, before] = [await dumpTables(auth), { ...dump }]
  for (const table of except) {
    delete now[table]
    delete before[table]
  }
  if (JSON.stringify(now) !== JSON.stringify(before)) expect(now).toEqual(before)
}

async function readingOf(db: TestDb): Promise<Reading> {
  const [version] = (await sql`pragma schema_version`.execute(db)).rows
  const known = readings.get(db)
  if (known !== undefined && isDeepStrictEqual(known.version, version)) return known
  const { rows } = await sql<{ name: string; read: string }>`
    select name, format(
      'select * from (select %Q as name, json_object(%s) as content from "%w" order by rowid)',
      name,
      (select group_concat(format('%Q, "%w"', own.name, own.name)) from pragma_table_info(tables.name) as own),
      name
    ) as read
    from sqlite_master as tables where type = 'table'`.execute(db)
  const query = sql<AnyRow>`${sql.raw(rows.map(({ read }) => read).join(' union all '))}`.compile(db)
  const reading = { version, query, tables: rows.map(({ name }) => name) }
  readings.set(db, reading)
  return reading
}

/** Returns the rows of one user, and of their sessions and accounts. */
export function rowsOf(userId: string, { user = [], session = [], account = [] }: Dump): Dump {
  const isTheirs = (row: Record<string, unknown>) => row.userId === userId
  return {
    user: user.filter(({ id }) => id === userId),
    session: session.filter(isTheirs),
    account: account.filter(isTheirs),
  }
}
