import { type RawBuilder, sql } from 'kysely'
import type { AuthPlugin } from '../../endpoints/definition.ts'
import {
  type AddedColumns,
  type ColumnShape,
  type SessionColumnShape,
  storedColumns,
} from '../../session/added-columns.ts'
import { changeTables } from './change-tables.ts'
import { type Problem, readColumnNames } from './inspect.ts'
import type { AuthKysely } from './kysely-tables.ts'
import type { MigrationDialect } from './migrations.ts'

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
  const names: string[] = []
  // One by one: a change that holds one table and waits for the other would block the app's transactions.
  for (const table of ['user', 'session'] as const) {
    const missing = (executor: AuthKysely) => missingColumns(executor, types, { table, columns })
    const change = async (trx: AuthKysely) => {
      for (const [name, shape] of await missing(trx)) {
        const column = sql`${sql.ref(name)} ${declaration(shape, types)}`
        await sql`alter table ${sql.table(table)} add column ${column}`.execute(trx)
        names.push(`${table}.${name}`)
      }
    }
    // `ALTER TABLE` blocks on every open transaction, so skip it when nothing is missing.
    if ((await missing(db)).length > 0) await changeTables(db, types, { key: ADDING_COLUMNS, change })
  }
  return names
}

/** The key of the advisory lock under which processes add columns. */
const ADDING_COLUMNS = 7_255_301

async function missingColumns(
  db: AuthKysely,
  { engine }: MigrationDialect,
  { table, columns }: { table: 'user' | 'session'; columns: AddedColumns },
): Promise<[name: string, shape: ColumnShape][]> {
  const shapes: [string, ColumnShape][] = Object.entries(columns[table])
  if (shapes.length === 0) return []
  const present = new Set(await readColumnNames(db, engine, table))
  return shapes.filter(([name]) => !present.has(name))
}

function declaration({ type, default: value }: ColumnShape, types: MigrationDialect): RawBuilder<unknown> {
  const { flag, timestamp } = types
  const text = sql`text`
  const written = { text, number: sql`double precision`, flag, timestamp, date: timestamp, json: text }
  if (value === undefined) return written[type]
  return sql`${written[type]} not null default ${sql.lit(value)}`
}

/** Returns what is wrong if Step 2 doesn't read the columns of a definition as it declares them. */
export function unreadColumns(
  definition: { readonly plugins: readonly AuthPlugin[] },
  read: AddedColumns,
): Problem | null {
  const wanted = columnsOf(definition)
  const howToRead = ({ type, from }: Partial<SessionColumnShape> = {}) => JSON.stringify([type, from])
  const unread = (['user', 'session'] as const).flatMap((table) =>
    Object.entries(wanted[table])
      .filter(([name, shape]) => howToRead(read[table][name]) !== howToRead(shape))
      .map(([name]) => `${table}.${name}`),
  )
  if (unread.length === 0) return null
  return {
    problem: `The auth definition adds ${unread.join(', ')}, which Step 2 does not read.`,
    fix: 'Run "sallyport generate", and open the database with { columns: authColumns }.',
  }
}
