import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { OpenedDatabase } from '../database/database.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import type { AddedColumns } from '../session/added-columns.ts'
import { usageError } from './errors.ts'
import { loadDefinition, requirePackage } from './load-definition.ts'
import { envFile, schemaOption } from './options.ts'

/** Migrations of large tables take long. */
const MAX_STATEMENT_MS = 60 * 60 * 1000

export interface DatabaseOptions {
  readonly database?: string
  readonly auth?: string
  readonly schema?: string
  /** If true, creates a missing SQLite file. Undefined for a command other than `migrate`. */
  readonly create?: boolean
}

export function addDatabaseOptions(command: Command, auth?: string): Command {
  return command
    .option(
      '-d, --database <url>',
      'such as file:data/app.db or postgres://user@host/app (default: AUTH_DATABASE_URL or DATABASE_URL)',
    )
    .option(
      '--auth <path>',
      'module whose default export is the auth definition, for the tables of plugins',
      auth,
    )
    .addOption(schemaOption())
    .addOption(envFile())
}

/**
 * Opens a database, and closes it after the work. Only `migrate` creates tables and columns.
 * @throws ConfigurationError if they are missing for another command
 */
export async function withDatabase(
  options: DatabaseOptions,
  work: (database: SessionDatabase, applied: readonly string[]) => void | Promise<void>,
): Promise<void> {
  const { database: url = urlInEnvironment('--database'), auth } = options
  const plugins = auth === undefined ? [] : (await loadDefinition(auth)).plugins
  const { columnsOf } = await import('../database/schema/columns.ts')
  const { preparePlugins } = await import('../database/schema/prepare-tables.ts')
  // The triggers also depend on the columns.
  const columns = columnsOf({ plugins })
  const explain = (error: unknown) => explainMissing(error, auth)
  const database = await openDatabase(url, { ...options, columns }).catch(explain)
  try {
    const { applied } = await preparePlugins(plugins, database).catch(explain)
    await work(database, [...database.migrations.applied, ...applied])
  } finally {
    await database.close()
  }
}

/** The URL may be of another database of the app, in which our tables must not be created. */
async function explainMissing(error: unknown, auth: string | undefined): Promise<never> {
  const { GENERATE } = await import('../database/schema/expected.ts')
  if (!(error instanceof ConfigurationError && error.message.includes(GENERATE))) throw error
  const command = `sallyport migrate${auth === undefined ? '' : ' --auth <path>'}`
  const fix = `Check that it is the database of your users. Then run "${command}" or your migration tool.`
  throw new ConfigurationError(error.message.replace(GENERATE, fix), { cause: error })
}

/**
 * Returns the URL in the environment. An app that needs `DATABASE_URL` itself sets `AUTH_DATABASE_URL`.
 * @param options the options that name the database
 * @throws CommanderError without a URL
 */
export function urlInEnvironment(options: string): string {
  const url = process.env.AUTH_DATABASE_URL || process.env.DATABASE_URL
  if (url) return url
  throw usageError(`Name the database: pass ${options}, or set AUTH_DATABASE_URL or DATABASE_URL.`)
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/.test(url)
}

/** Loads the driver only now, so the other commands work without one. */
async function openDatabase(
  url: string,
  { create, schema, columns }: DatabaseOptions & { readonly columns: AddedColumns },
): Promise<OpenedDatabase<unknown>> {
  const migrate = create !== undefined
  if (isPostgresUrl(url)) {
    const { openPostgres } = await import('../postgres.ts').catch(requirePackage('pg'))
    const { inspectOpened } = await import('../database/schema/inspect-opened.ts')
    const { requireSchema } = await import('./require-schema.ts')
    const settings = { statementTimeoutMs: MAX_STATEMENT_MS, migrate, columns }
    const stop = migrate ? () => {} : inspectOpened((opening) => requireSchema(opening, schema))
    return openPostgres(url, { ...settings, ...(schema && { schema }) }).finally(stop)
  }
  const { openSqlite } = await import('../sqlite.ts').catch(requirePackage('better-sqlite3'))
  const { toPath } = await import('../database/sqlite/connections/connect.ts')
  const path = toPath(url)
  // A mistyped path must not become a new file.
  if (!create && path !== ':memory:' && !existsSync(path)) {
    const next = create === false ? ', or pass --create to create it' : ''
    throw new ConfigurationError(`Database ${path} not found. Check the path${next}.`)
  }
  return openSqlite(url, { migrate, columns })
}
