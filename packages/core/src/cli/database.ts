import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { OpenedDatabase } from '../database/database.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { usageError } from './errors.ts'
import { loadDefinition, requirePackage } from './load-definition.ts'
import { envFile, schemaOption } from './options.ts'

/** Migrations of large tables take long. */
const MAX_STATEMENT_MS = 60 * 60 * 1000

export interface DatabaseOptions {
  readonly database?: string
  readonly auth?: string
  readonly schema?: string
  /** If true, creates a missing SQLite file. Undefined for a command that never does. */
  readonly create?: boolean
}

export function addDatabaseOptions(command: Command, auth?: string): Command {
  const url = new Option('-d, --database <url>', 'such as file:data/app.db or postgres://user@host/app')
  return command
    .addOption(url.env('DATABASE_URL'))
    .option(
      '--auth <path>',
      'module whose default export is the auth definition, for the tables of plugins',
      auth,
    )
    .addOption(schemaOption())
    .addOption(envFile())
}

/** Opens and migrates a database, with the tables of plugins, and closes it after the work. */
export async function withDatabase(
  options: DatabaseOptions,
  work: (database: SessionDatabase, applied: readonly string[]) => void | Promise<void>,
): Promise<void> {
  const { database: url, auth } = options
  if (url === undefined) throw usageError('Name the database: pass --database, or set DATABASE_URL.')
  const plugins = auth === undefined ? [] : (await loadDefinition(auth)).plugins
  const database = await openDatabase(url, options)
  try {
    const { migratePlugins } = await import('../database/schema/columns.ts')
    const { applied } = await migratePlugins(plugins, database)
    await work(database, [...database.migrations.applied, ...applied])
  } finally {
    await database.close()
  }
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/.test(url)
}

/** Loads the driver only now, so the other commands work without one. */
async function openDatabase(
  url: string,
  { create, schema }: DatabaseOptions,
): Promise<OpenedDatabase<unknown>> {
  if (isPostgresUrl(url)) {
    const { openPostgres } = await import('../postgres.ts').catch(requirePackage('pg'))
    return openPostgres(url, { statementTimeoutMs: MAX_STATEMENT_MS, ...(schema && { schema }) })
  }
  const { openSqlite } = await import('../sqlite.ts').catch(requirePackage('better-sqlite3'))
  const { toPath } = await import('../database/sqlite/connections/connect.ts')
  const path = toPath(url)
  // A mistyped path must not become a new file.
  if (!create && path !== ':memory:' && !existsSync(path)) {
    const next = create === false ? ', or pass --create to create it' : ''
    throw new ConfigurationError(`Database ${path} not found. Check the path${next}.`)
  }
  return openSqlite(url)
}
