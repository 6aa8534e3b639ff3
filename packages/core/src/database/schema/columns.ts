import { type RawBuilder, sql } from 'kysely'
import type { AuthPlugin } from '../../endpoints/definition.ts'
import {
  type AddedColumns,
  type ColumnShape,
  type SessionColumnShape,
  storedColumns,
} from '../../session/added-columns.ts'
import type { SessionDatabase } from '../session-database.ts'
import { changeTables } from './change-tables.ts'
import { readColumnNames } from './inspect.ts'
import type { AuthKysely } from './kysely-tables.ts'
import { type MigrationDialect, type MigrationReport, migrate } from './migrations.ts'

/** Returns the columns that the plugins and the app add to `user` and `session`. */
export function columnsOf({ plugins }: { readonly plugins: readonly AuthPlugin[] }): AddedColumns {
  const shapes = (
    of: (plugin: AuthPlugin) => Readonly<Record<string, Partial<SessionColumnShape>>> | undefined,
  ) =>
    Object.fromEntries(
      plugins
        .flatMap((plugin) => Object.entries(of(plugin) ?? {}))
        .map(([name, { type = 'text', default: value, from }]): [string, SessionColumnShape] => [
          name,
          { type, ...(value !== undefined && { default: value }), ...(from && { from }) },
        ]),
    )
  return {
    user: shapes(({ userColumns }) => userColumns),
    session: shapes(({ sessionColumns }) => sessionColumns),
  }
}

/**
 * Adds the missing columns. Safe to call at every start and from several processes at once.
 * @returns the names of the columns it added, such as `user.locale`
 */
export async function addColumns(
  db: AuthKysely,
  types: MigrationDialect,
  added: AddedColumns,
): Promise<string[]> {
  const columns = storedColumns(added)
  if (Object.keys({ ...columns.user, ...columns.session }).length === 0) return []
  // `ALTER TABLE` blocks on every open transaction, so skip it when nothing is missing.
  if ((await missingColumns(db, types, columns)).length === 0) return []
  const change = async (trx: AuthKysely) => {
    const missing = await missingColumns(trx, types, columns)
    for (const { table, name, shape } of missing) {
      const column = sql`${sql.ref(name)} ${declaration(shape, types)}`
      await sql`alter table ${sql.table(table)} add column ${column}`.execute(trx)
    }
    return missing.map(({ table, name }) => `${table}.${name}`)
  }
  return changeTables(db, types, { key: ADDING_COLUMNS, change })
}

/** The key of the advisory lock under which processes add columns. */
const ADDING_COLUMNS = 7_255_301

async function missingColumns(
  db: AuthKysely,
  { engine }: MigrationDialect,
  columns: AddedColumns,
): Promise<{ table: string; name: string; shape: ColumnShape }[]> {
  const missing = []
  for (const table of ['user', 'session'] as const) {
    const present = new Set(await readColumnNames(db, engine, table))
    for (const [name, shape] of Object.entries(columns[table]))
      if (!present.has(name)) missing.push({ table, name, shape })
  }
  return missing
}

function declaration({ type, default: value }: ColumnShape, types: MigrationDialect): RawBuilder<unknown> {
  const { flag, timestamp } = types
  const text = sql`text`
  const written = { text, number: sql`double precision`, flag, timestamp, date: timestamp, json: text }
  if (value === undefined) return written[type]
  const literal = typeof value === 'boolean' ? (value ? types.yes : types.no) : sql.lit(value)
  return sql`${written[type]} not null default ${literal}`
}

/** Returns the names of declared columns that Step 2 doesn't read the same way, such as `user.locale`. */
export function unreadColumns(wanted: AddedColumns, read: AddedColumns): string[] {
  const howToRead = ({ type, from }: Partial<SessionColumnShape> = {}) => JSON.stringify([type, from])
  return (['user', 'session'] as const).flatMap((table) =>
    Object.entries(wanted[table])
      .filter(([name, shape]) => howToRead(read[table][name]) !== howToRead(shape))
      .map(([name]) => `${table}.${name}`),
  )
}

/** Adds the columns that the plugins declare, then runs the migrations of each plugin. */
export async function migratePlugins(
  plugins: readonly AuthPlugin[],
  { db, types, restore }: Pick<SessionDatabase, 'db' | 'types' | 'restore'>,
): Promise<MigrationReport> {
  const applied = await addColumns(db, types, columnsOf({ plugins }))
  for (const { id, migrations } of plugins) {
    if (migrations === undefined) continue
    const report = await migrate(db, types, { owner: id, migrations })
    applied.push(...report.applied.map((name) => `${id} ${name}`))
  }
  if (applied.length > 0) await restore?.()
  return { applied }
}
