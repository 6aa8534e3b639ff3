import type { KyselyPlugin } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import type { OwnTablesOptions } from '../database.ts'
import type { StoreMapping } from './mapping.ts'
import { ownMapping, type RenamedTables, renamedTables } from './own-names.ts'
import { renamingPlugin } from './renaming-plugin.ts'

/** Returns what runs our queries on an app's names for our tables: a mapping for SQL, a plugin for Kysely. */
export function applyNames({ names, columns, migrate = true }: OwnTablesOptions): {
  names?: RenamedTables
  mapping?: StoreMapping
  plugins: KyselyPlugin[]
} {
  if (names === undefined) return { plugins: [] }
  if (migrate)
    throw new ConfigurationError(
      'names: your own tool creates tables with other names. Set { migrate: false }.',
    )
  const tables = renamedTables(names, columns)
  return { names: tables, mapping: ownMapping(tables), plugins: [renamingPlugin(tables)] }
}
