import { type AddedColumns, NO_COLUMNS, storedColumns } from '../../session/added-columns.ts'
import type { MappingOptions } from '../database.ts'
import type { ColumnNames, Expected } from './inspect.ts'
import { INTERNAL_SCHEMA, type InternalNames, storedName } from './internal-tables.ts'
import { namesOf, quote } from './mapping.ts'
import { fullName, ownMapping, type RenamedTables } from './own-names.ts'
import { postgresTriggers, type WatchedColumns } from './postgres-triggers.ts'
import type { Tables } from './table.ts'
import { INTERNAL_TABLES, USER_TABLES, withColumns } from './tables.ts'

/** What to do if a table is missing that the app's tool creates. */
export const GENERATE =
  'Run "sallyport generate --schema drizzle" (or prisma, or sql), then your migration tool.'

interface ExpectedTables {
  /** The tables of plugins. @default none */
  readonly pluginTables?: Tables
  readonly columns?: AddedColumns
  readonly migrates: boolean
  readonly names?: RenamedTables | undefined
}

/** Returns what our own database must have. With `migrate: false`, the app's tool creates its tables. */
export function expectedOfDatabase(
  internal: InternalNames,
  { pluginTables = {}, columns = NO_COLUMNS, migrates, names }: ExpectedTables,
): Expected {
  const declared = Object.keys({ ...pluginTables, ...columns.user, ...columns.session })
  const isDefined = declared.some((name) => !(name in USER_TABLES || name.includes('.')))
  // Without the definition, the command knows neither the tables and columns of plugins nor their triggers.
  const migrate = `"${migrateCommand(internal)}${isDefined ? ' --auth <path>' : ''}"`
  return {
    internal,
    tables: columnNames({ ...pluginTables, ...withColumns(USER_TABLES, columns) }, names),
    fix: migrates ? `Restart the app, or run ${migrate}. If it's still missing, restore a backup.` : GENERATE,
    internalTables: internalColumns(internal),
    triggers: triggersOf(internal, { mapping: names && ownMapping(names), columns }),
    ourFix: `${restart(internal)}${migrates ? `, or run ${migrate}` : ''}.`,
  }
}

/** Returns what the tables of another library must have, by the names of the mapping. */
export function expectedOfStore(
  internal: InternalNames,
  { mapping, columns = NO_COLUMNS }: MappingOptions,
): Expected {
  const { session, user } = namesOf(internal.engine, mapping)
  const stored = storedColumns(columns)
  const present = (columns: Readonly<Record<string, string | null>>, added: object) =>
    Object.values({
      ...Object.fromEntries(Object.keys(added).map((name) => [name, name])),
      ...columns,
    }).filter((column) => column !== null)
  return {
    internal,
    tables: {
      [session.table]: present(session.columns, stored.session),
      [user.table]: present(user.columns, stored.user),
    },
    fix: 'Restore it, or change the mapping of the store.',
    internalTables: internalColumns(internal),
    triggers: triggersOf(internal, { mapping, columns }),
    ourFix: `${restart(internal)}.`,
  }
}

function restart({ engine }: InternalNames): string {
  return engine === 'sqlite' ? 'Restart the app' : 'Restart the app with a role that may create it'
}

function migrateCommand({ schema }: InternalNames): string {
  return `sallyport migrate${schema === INTERNAL_SCHEMA ? '' : ` --schema ${schema}`}`
}

/** Returns the names of the columns by table, under the app's names where it has others. */
export function columnNames(tables: Tables, names?: RenamedTables): ColumnNames {
  return Object.fromEntries(
    Object.entries(tables).map(([name, { columns }]) => {
      const renamed = names?.get(name)
      const own = Object.keys(columns)
      return renamed
        ? [fullName(renamed), own.map((column) => renamed.columns.get(column) ?? column)]
        : [name, own]
    }),
  )
}

/** Returns the columns of our internal tables by their names in the database. */
function internalColumns(internal: InternalNames): ColumnNames {
  return Object.fromEntries(
    Object.entries(columnNames(INTERNAL_TABLES)).map(([name, columns]) => [
      storedName(internal, name.slice(INTERNAL_SCHEMA.length + 1)),
      columns,
    ]),
  )
}

/** Returns the triggers by table. SQLite has none. */
function triggersOf(internal: InternalNames, watched: WatchedColumns): Expected['triggers'] {
  if (internal.engine === 'sqlite') return {}
  const tables = postgresTriggers(internal, watched)
  const byRow = new Set(tables.map(({ table }) => quote(table)))
  const functions = [...tables, ...postgresTriggers(internal, { ...watched, byRow })]
  return Object.fromEntries(
    tables.map(({ table, triggers }) => [
      table,
      {
        names: triggers.map(({ name }) => name),
        functions: functions.filter((other) => other.table === table).map(({ functionBody }) => functionBody),
      },
    ]),
  )
}
