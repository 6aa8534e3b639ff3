import type { Engine, StoreMapping } from '../database/mapping.ts'
import { type SessionSql, sessionSql } from '../database/session-sql.ts'
import { ConfigurationError, isConfigurationError } from '../protocol/errors.ts'
import type { Session } from '../session/session.ts'
import { type LookupRow, toSession } from '../session/session-row.ts'
import type { SessionReader } from '../session/session-store.ts'
import { type ProvedSession, type ValidateOptions, validateSession } from '../session/validate-session.ts'
import { LOCK_TIMEOUT_MS } from './locking-adapter.ts'

/**
 * Runs one statement in the app's transaction, and returns its rows or `{ rows }`. The tagged templates of
 * Kysely, Drizzle, and Prisma take these arguments.
 */
export type Execute = (query: TemplateStringsArray, ...values: unknown[]) => unknown

export interface LockSessionOptions extends ValidateOptions {
  /** The names of the tables, as given to the store. */
  readonly mapping?: StoreMapping
}

/**
 * Step 2 inside a transaction of the app: locks and reads the user, then the session. What the transaction
 * writes commits before a revocation of the session or not at all; this holds for nothing else.
 *
 * Call it first in the transaction, before the app locks its own rows. In SQLite, use `begin immediate`.
 *
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
    const sessions = rawLockingAdapter(execute, sessionSql(engine, mapping))
    try {
      return await validateSession(identity, sessions, { lookupTimeoutMs: LOCK_TIMEOUT_MS, ...options })
    } catch (error) {
      // A mistake that no retry fixes must not look like an outage.
      throw configurationFault(error) ?? error
    }
  }
}

/** Finds a mistake of the app: its `execute`, or the names of its tables (SQLSTATE class 42). */
function configurationFault(error: unknown): ConfigurationError | null {
  if (!(error instanceof Error)) return null
  if (isConfigurationError(error)) return error
  const isWrongStatement = 'code' in error && /^(42...|SQLITE_ERROR)$/.test(String(error.code))
  if (!isWrongStatement) return configurationFault(error.cause)
  return new ConfigurationError(`lockSession: ${error.message}. Does it have the { mapping } of the store?`, {
    cause: error,
  })
}

function rawLockingAdapter(execute: Execute, { engine, session, user }: SessionSql): SessionReader {
  const lock = engine === 'postgres' ? ' for no key update' : ''
  return {
    async findSession(key) {
      const { sessionId, userId } = key
      const ofUser = query(`select ${user.columns} from ${user.table} u where u.${user.id} = `, lock)
      const [userRow] = rowsOf(await execute(ofUser, userId))
      if (userRow === undefined) return null
      const ofSession = query(
        `select ${session.columns} from ${session.table} s where s.${session.id} = `,
        ` and s.${session.userId} = `,
        lock,
      )
      const [sessionRow] = rowsOf(await execute(ofSession, sessionId, userId))
      return sessionRow === undefined ? null : toSession(key, toLookupRow({ ...userRow, ...sessionRow }))
    },
  }
}

/** Builds the first argument of a template tag; the values go between the parts. */
function query(...parts: string[]): TemplateStringsArray {
  return Object.assign(parts, { raw: parts })
}

type Row = Readonly<Record<string, unknown>>

function rowsOf(result: unknown): readonly Row[] {
  const rows = typeof result === 'object' && result !== null && 'rows' in result ? result.rows : result
  if (Array.isArray(rows)) return rows
  throw new ConfigurationError('The execute of lockSession must return the rows, or { rows }')
}

/** Some drivers return integers as bigint. */
function toLookupRow(row: Row): LookupRow {
  const toNumber = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
  const entries = Object.entries(row).map(([name, value]) => [name, toNumber(value)])
  return Object.fromEntries(entries)
}
