import { isConfigurationError } from '../protocol/errors.ts'

interface Closable {
  close(): Promise<void>
}

/** A database that is open, with the result of its preparation. */
interface Prepared<Database, Result> {
  readonly database: Database
  readonly result: Result
}

interface PrepareOptions<Database, Result> {
  readonly open: () => Promise<Database>
  readonly prepare: (database: Database) => Promise<Result>
}

interface ShareOptions<Database, Result> extends PrepareOptions<Database, Result> {
  readonly name: string
  /** Stops the timers of this copy of the module, once another one uses the database. */
  readonly stop: () => void
}

interface Shared {
  readonly database: Promise<Closable>
  /** Undefined until the promise resolves. */
  opened?: Closable
  stop: () => void
}

/** Opens a database, and closes it again if it can't be prepared. */
export async function openPrepared<Database extends Closable, Result>({
  open,
  prepare,
}: PrepareOptions<Database, Result>): Promise<Prepared<Database, Result>> {
  const database = await open()
  try {
    return { database, result: await prepare(database) }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Opens the database of a name once per process, for every copy of the module that opens it. */
export async function openShared<Database extends Closable, Result>(
  options: ShareOptions<Database, Result>,
): Promise<Prepared<Database, Result>> {
  const { name, prepare, stop } = options
  const shared = databases().get(name)
  if (shared === undefined) {
    const opened = openPrepared(options)
    const database = opened.then((prepared) => prepared.database)
    const entry: Shared = { database, stop }
    databases().set(name, entry)
    database.then(
      (value) => {
        entry.opened = value
      },
      () => databases().delete(name),
    )
    return opened
  }
  const database = (await shared.database) as Database
  try {
    const result = await prepare(database)
    shared.stop()
    shared.stop = stop
    return { database, result }
  } catch (error) {
    if (!isConfigurationError(error)) throw error
    // An earlier version of the module opened it, such as without a column that this one adds.
    await closeShared(name, database)
    return openShared(options)
  }
}

/** Returns the database of a name if a copy of the module has opened it. */
export function findShared(name: string): Closable | undefined {
  return databases().get(name)?.opened
}

/** Closes a database, and forgets it unless another one has its name by now. */
export async function closeShared(name: string, database: Closable): Promise<void> {
  const shared = databases().get(name)
  const isCurrent = (await shared?.database.catch(() => undefined)) === database
  if (isCurrent && databases().get(name) === shared) databases().delete(name)
  await database.close()
}

const holder: { [key: symbol]: unknown } = globalThis

/** On `globalThis`, because hot reloads and bundlers evaluate the modules of an app more than once. */
function databases(): Map<string, Shared> {
  const key = Symbol.for('sallyport.databases')
  holder[key] ??= new Map<string, Shared>()
  return holder[key] as Map<string, Shared>
}
