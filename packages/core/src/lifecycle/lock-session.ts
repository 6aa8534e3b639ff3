import type { Engine, StoreMapping } from '../database/mapping.ts'
import { type SessionSql, sessionSql } from '../database/session-sql.ts'
import { ConfigurationError, isConfigurationError } from '../protocol/errors.ts'
import type { Session, SessionReader } from '../session/session.ts'
import type { Row } from '../session/session-row.ts'
import { type ProvedSession, type ValidateOptions, validateSession } from '../session/validate-session.ts'
import { LOCK_TIMEOUT_MS, lockedReader } from './locked-sessions.ts'

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
 * Runs Step 2 inside a transaction of the app: locks and reads the user, then the session. The writes of the
 * transaction, and nothing else, commit before a revocation of the session or not at all.
 *
 * Call it first in the transaction, before the app locks other rows. In SQLite, use `begin immediate`.
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
    const sessions = createReader(execute, sessionSql(engine, mapping))
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
  const message = `lockSession: ${error.message}. Pass { mapping } as for the store.`
  return new ConfigurationError(message, { cause: error })
}

function createReader(execute: Execute, { engine, session, user }: SessionSql): SessionReader {
  const lock = engine === 'postgres' ? ' for no key update' : ''
  return lockedReader({
    async lockUser({ userId }) {
      const statement = query(`select ${user.columns} from ${user.table} u where u.${user.id} = `, lock)
      return rowsOf(await execute(statement, userId))[0]
    },
    async lockSession({ sessionId, userId }) {
      const statement = query(
        `select ${session.columns} from ${session.table} s where s.${session.id} = `,
        ` and s.${session.userId} = `,
        lock,
      )
      return rowsOf(await execute(statement, sessionId, userId))[0]
    },
  })
}

/** Builds the first argument of a template tag; the values go between the parts. */
function query(...parts: string[]): TemplateStringsArray {
  return Object.assign(parts, { raw: parts })
}

function rowsOf(result: unknown): readonly Row[] {
  const rows = typeof result === 'object' && result !== null && 'rows' in result ? result.rows : result
  if (Array.isArray(rows)) return rows
  throw new ConfigurationError('lockSession: execute must return the rows, or { rows }')
}
