import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { AnyDatabase, OpenedDatabase } from '../database/database.ts'
import type { AuthTransaction, RecordEvent, SessionDatabase } from '../database/session-database.ts'
import type { AuthDefinition } from '../endpoints/definition.ts'
import type { EventListener } from '../events/event.ts'
import { withDeadline } from '../protocol/deadline.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { addDatabaseOptions, type DatabaseOptions, withDatabase } from './database.ts'
import { importModule, loadDefinition } from './load-definition.ts'
import { contextPath, modulePath } from './options.ts'

/** The actor in the records of `sallyport user` and `sallyport sessions`. */
export const ACTOR = 'cli'

const MAX_LISTENER_MS = 10_000

interface AppOptions extends DatabaseOptions {
  readonly auth: string
  readonly context: string
}

export interface App {
  readonly database: SessionDatabase
  readonly definition: AuthDefinition
  /** Makes a change with the hooks and the records of the app. */
  change<Result>(work: (trx: AuthTransaction, record: RecordEvent) => Promise<Result>): Promise<Result>
}

/** What the module of `--context` may export. */
interface ContextModule {
  readonly auth?: { readonly database?: AnyDatabase; ready?(): Promise<void>; close?(): unknown }
  readonly database?: AnyDatabase & Pick<OpenedDatabase<unknown>, 'close'>
}

export function addAppOptions(command: Command): Command {
  return addContextOptions(command, modulePath('auth.ts')).option('--json', 'print JSON, also for errors')
}

export function addContextOptions(command: Command, auth?: string): Command {
  return addDatabaseOptions(command, auth).option(
    '--context <path>',
    'module that opens the database, unless --database names it',
    contextPath(),
  )
}

/** Opens the database as the app does, or by its URL, with the hooks of the definition. Closes it. */
export async function withApp(command: Command, work: (app: App) => Promise<void>): Promise<void> {
  const definition = await loadDefinition(command.opts<AppOptions>().auth)
  const { commit } = await import('../lifecycle/commit.ts')
  await withAppDatabase(command, (given) =>
    withListener(given, definition, (database) =>
      work({ database, definition, change: (change) => commit(database, change) }),
    ),
  )
}

/** Adds the hooks and the listener of a definition. Waits for the listener, which the exit would cut off. */
export async function withListener(
  given: AnyDatabase,
  definition: AuthDefinition | null,
  work: (database: SessionDatabase) => Promise<unknown>,
): Promise<void> {
  const { observed } = await import('../lifecycle/observed-database.ts')
  const database = observed(given, definition)
  let calls = Promise.resolve()
  const onEvent: EventListener = (event) => {
    const call = Promise.resolve(database.onEvent?.(event))
    calls = Promise.all([calls, call]).then(() => {})
    return call
  }
  try {
    await work({ ...database, onEvent })
  } finally {
    await withDeadline(calls, MAX_LISTENER_MS).catch(() =>
      console.error('onEvent takes over 10 s. This process ends before it has finished.'),
    )
  }
}

/** Opens the database as the app does, or by its URL, and closes it after the work. */
export async function withAppDatabase(
  command: Command,
  work: (database: AnyDatabase) => Promise<void>,
): Promise<void> {
  const options = command.opts<AppOptions>()
  const isNamed = (option: string) => command.getOptionValueSource(option) === 'cli'
  const opens = !isNamed('database') && (isNamed('context') || existsSync(options.context))
  if (!opens) return withDatabase(options, work)
  const { auth, database } = await importModule<ContextModule>(options.context)
  // Opens one that opens at its first use. A key set that is down must not prevent a revocation.
  const failure: unknown = await auth?.ready?.().catch((error: unknown) => error)
  const opened = openedBy(auth, failure) ?? database
  if (opened === undefined)
    throw new ConfigurationError(
      `${options.context} exports neither auth nor database. Export one, or pass --database <url>.`,
    )
  try {
    await work(opened)
  } finally {
    await auth?.close?.()
    await database?.close()
  }
}

/** Returns the database of an auth server. If it isn't open, throws why. */
function openedBy(auth: ContextModule['auth'], failure: unknown): AnyDatabase | undefined {
  try {
    return auth?.database
  } catch (error) {
    throw failure ?? error
  }
}
