import type { CompiledQuery } from 'kysely'
import { type SessionLocks, sessionSql } from '../database/find-session-sql.ts'
import type { Engine, StoreMapping } from '../database/schema/mapping.ts'
import { errorAndCauses } from '../protocol/causes.ts'
import { ConfigurationError, isConfigurationError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/is-thenable.ts'
import { addedLists, NO_COLUMNS } from '../session/added-columns.ts'
import { isIdOf } from '../session/id-types.ts'
import type { Session, SessionKey, StoredSession } from '../session/session.ts'
import { type Row, toSession } from '../session/session-row.ts'
import { type ProvedSession, type ValidateOptions, validateSession } from '../session/validate-session.ts'

export const LOCK_TIMEOUT_MS = 5_000

/**
 * Runs one statement in the app's transaction, and returns its rows or `{ rows }`. The tagged templates of
 * Kysely, Drizzle, and Prisma take these arguments.
 */
export type Execute = (query: TemplateStringsArray, ...values: unknown[]) => unknown

/** Builds queries without Kysely's `sql`: light entries don't bundle it, and apps have their own. */
export function kyselyExecute(run: (query: CompiledQuery) => unknown, engine: Engine): Execute {
  const isSqlite = engine === 'sqlite'
  return (parts, ...parameters) => {
    const sql = parts.reduce((text, part, place) => `${text}${isSqlite ? '?' : `$${place}`}${part}`)
    const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
    return run({ sql, parameters, query, queryId: { queryId: crypto.randomUUID() } })
  }
}

export interface LockSessionOptions extends ValidateOptions {
  /** The names of the tables, as given to the store. */
  readonly mapping?: StoreMapping
}

/**
 * Runs Step 2 inside a transaction of the app: locks and reads the user, then the session. The writes of the
 * transaction, and nothing else, commit before a revocation of the session or not at all.
 *
 * Call it first in the transaction, before the app locks other rows. In SQLite, use `begin immediate`, and
 * Drizzle's `tx.all` instead of `tx.execute`.
 * @param execute runs a statement in the transaction
 * @param identity `ctx.identity`
 * @throws AuthError like `validateSession`; let it roll back the transaction
 * @throws ConfigurationError if `execute` doesn't return rows
 * @example
 * await kysely.transaction().execute(async (trx) => {
 *   await lockSession((...query) => sql(...query).execute(trx), ctx.identity)
 *   await trx.insertInto('transfer').values(transfer).execute()
 * })
 * await drizzle.transaction(async (tx) => {
 *   await lockSession((...query) => tx.execute(sql(...query)), ctx.identity)
 *   await tx.insert(transfers).values(transfer)
 * })
 * await prisma.$transaction(async (tx) => {
 *   await lockSession((...query) => tx.$queryRaw(...query), ctx.identity)
 *   await tx.transfer.create({ data: transfer })
 * })
 */
export type LockSession = (
  execute: Execute,
  identity: ProvedSession,
  options?: LockSessionOptions,
) => Promise<Session>

/** Creates the {@link LockSession} of an engine. */
export function lockSessionIn(engine: Engine): LockSession {
  return async (execute, identity, { mapping, ...options } = {}) => {
    const sql = sessionSql(engine, mapping)
    const sessions = { findSession: (key: SessionKey) => findLocked(execute, key, { sql }) }
    try {
      return await validateSession(identity, sessions, { lookupTimeoutMs: LOCK_TIMEOUT_MS, ...options })
    } catch (error) {
      // A mistake that no retry fixes must not look like an outage.
      throw configurationFault(error) ?? error
    }
  }
}

/** Finds a mistake of the app: its `execute`, or the names of its tables (SQLSTATE class 42). */
export function configurationFault(error: unknown): ConfigurationError | null {
  const isWrongStatement = (each: Error) => 'code' in each && /^(42...|SQLITE_ERROR)$/.test(String(each.code))
  const cause = errorAndCauses(error).find((each) => isConfigurationError(each) || isWrongStatement(each))
  if (cause === undefined || isConfigurationError(cause)) return cause ?? null
  return new ConfigurationError(`lockSession: ${cause.message}. Pass { mapping } as for the store.`, {
    cause,
  })
}

/**
 * Locks and reads the user, then the session. Returns no promise if `execute` returns none. Where they are
 * known, ids get their types, because some drivers send every value as text.
 */
export function findLocked(
  execute: Execute,
  key: SessionKey,
  { sql: { engine, session, user }, columns = NO_COLUMNS, ids }: SessionLocks,
): StoredSession | null | Promise<StoredSession | null> {
  const isPossible = !ids || (isIdOf(ids.session, key.sessionId) && isIdOf(ids.user, key.userId))
  if (!isPossible) return null
  const [ofSession, ofUser] = ids ? [`::${ids.session}`, `::${ids.user}`] : ['', '']
  const lock = engine === 'postgres' ? ' for no key update' : ''
  const [mark, isMarked] = engine === 'postgres' ? MARKS : ['', '']
  const userQuery = query(
    `select ${user.columns}${user.added}${mark} from ${user.table} u where u.${user.id} = `,
    `${ofUser}${lock}`,
  )
  const sessionQuery = query(
    `select ${session.columns}${session.locked}${isMarked} from ${session.table} s where s.${session.id} = `,
    `${ofSession} and s.${session.userId} = `,
    `${ofUser}${lock}`,
  )
  return whenSettled(execute(userQuery, key.userId), (users) => {
    const [user] = rowsOf(users)
    if (user === undefined) return null
    return whenSettled(execute(sessionQuery, key.sessionId, key.userId), (sessions) => {
      const [session] = rowsOf(sessions)
      if (session !== undefined && isMarked !== '' && session.mark !== 'on')
        throw new ConfigurationError(
          'lockSession: the statements ran outside a transaction, so the locks are gone. Pass the execute of the transaction.',
        )
      return session === undefined ? null : toSession(key, { user, session }, addedLists(columns))
    })
  })
}

/** A setting that lasts until the transaction ends, as the locks do. */
const MARKS = [
  `, set_config('sallyport.locked', 'on', true)`,
  `, current_setting('sallyport.locked', true) as "mark"`,
] as const

/** Calls `next` with a value, or with what a promise resolves to. */
function whenSettled<Result>(
  value: unknown,
  next: (value: unknown) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value)
}

/** Builds the first argument of a template tag; the values go between the parts. */
export function query(...parts: string[]): TemplateStringsArray {
  return Object.assign(parts, { raw: parts })
}

function rowsOf(result: unknown): readonly Row[] {
  const rows = typeof result === 'object' && result !== null && 'rows' in result ? result.rows : result
  if (Array.isArray(rows)) return rows
  throw new ConfigurationError('lockSession: execute must return the rows, or { rows }')
}
