import { DeadlineError } from '../protocol/deadline.ts'
import { isEndpointError } from '../protocol/endpoint-error.ts'
import { isAuthError, isConfigurationError } from '../protocol/errors.ts'
import type { FailureCode } from './failure.ts'

/** Codes of SQLite, SQLSTATEs of PostgreSQL, and messages of `pg` and of our checks, which have no codes. */
const CODES: readonly (readonly [RegExp, FailureCode])[] = [
  [/^SQLITE_READONLY_DBMOVED$/, 'DATABASE_FILE_REPLACED'],
  [/^(SQLITE_READONLY|25006$)|in recovery,/, 'DATABASE_READ_ONLY'],
  [/^(SQLITE_FULL|53100$|ENOSPC$|EDQUOT$)/, 'DATABASE_FULL'],
  [/^(SQLITE_BUSY|SQLITE_LOCKED|TRANSACTION_ACTIVE$|55P03$|40001$|40P01$)/, 'DATABASE_LOCKED'],
  [/^(57014|25P0[34]|ETIMEDOUT|timeout expired|Query read timeout)$/, 'DATABASE_TIMEOUT'],
  [/^(53300$|timeout exceeded when trying to connect)/, 'POOL_EXHAUSTED'],
]

/** The numbers of `node:sqlite`. */
const NUMBERS: Readonly<Record<number, FailureCode>> = {
  5: 'DATABASE_LOCKED',
  6: 'DATABASE_LOCKED',
  8: 'DATABASE_READ_ONLY',
  13: 'DATABASE_FULL',
}

const MAX_DEPTH = 8

/** An error that knows its failure code. */
export class Fault extends Error {
  readonly failureCode: FailureCode

  constructor(failureCode: FailureCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.failureCode = failureCode
  }
}

/** Returns what failed, as far as an error and its causes say. */
export function failureCode(error: unknown): FailureCode {
  // Its cause is about the provider, but can have an error code of a database.
  if (isEndpointError(error) && error.code === 'PROVIDER_UNAVAILABLE') return error.code
  let cause = error
  for (let depth = 0; depth < MAX_DEPTH && cause instanceof Error; depth++) {
    const code = codeOf(cause)
    if (code !== undefined) return code
    cause = cause.cause
  }
  return isAuthError(error) ? 'DATABASE_UNAVAILABLE' : 'INTERNAL_ERROR'
}

function codeOf(error: Error): FailureCode | undefined {
  if (error instanceof Fault) return error.failureCode
  if (isConfigurationError(error)) return 'CONFIGURATION_INVALID'
  if (isAuthError(error) && error.reason === 'KEYS_UNAVAILABLE') return 'KEYS_UNAVAILABLE'
  if (error instanceof DeadlineError) return 'DATABASE_TIMEOUT'
  if ('errcode' in error && typeof error.errcode === 'number') return NUMBERS[error.errcode & 0xff]
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return CODES.find(([pattern]) => pattern.test(code) || pattern.test(error.message))?.[1]
}
