import { setTimeout as sleep } from 'node:timers/promises'
import { AuthError } from '../../../protocol/errors.ts'
import { backOff } from '../../../protocol.ts'

const BUSY_PAUSE = { minMs: 1, maxMs: 50 }

/** `sql` is the statement, if it may be one that only reads. */
export type RetryWhileBusy = <Result>(
  execute: () => Promise<Result> | Result,
  sql?: string,
) => Promise<Result>

/**
 * Retries while another process holds a lock. After `timeoutMs`, it's `SESSIONS_UNAVAILABLE`.
 * @param isFault returns whether an error is passed on, because the statement is at fault
 */
export function createBusyRetry(
  timeoutMs: number,
  isFault: (error: unknown) => boolean = isStatementFault,
): RetryWhileBusy {
  let timedOutAt = Number.NEGATIVE_INFINITY

  return async function retryWhileBusy(execute, sql = '') {
    const startedAt = performance.now()
    // A statement queued behind one that timed out has waited as long, so it gets one attempt.
    const deadline = startedAt - timedOutAt < timeoutMs ? startedAt : startedAt + timeoutMs
    for (let attempts = 1; ; attempts++) {
      try {
        const result = await execute()
        // A read succeeds while another process holds the lock for writes.
        if (!/^select\b/i.test(sql)) timedOutAt = Number.NEGATIVE_INFINITY
        return result
      } catch (error) {
        if (isFault(error)) throw error
        const now = performance.now()
        if (isBusy(error) && now >= deadline) timedOutAt = now
        if (!isBusy(error) || now >= deadline) throw new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
      }
      await sleep(backOff(attempts, BUSY_PAUSE))
    }
  }
}

/** Returns whether another connection holds a lock, so a retry may succeed. */
export function isBusy(error: unknown): boolean {
  // In memory, `@libsql/client` has one connection, which a transaction holds.
  return /^(SQLITE_BUSY|TRANSACTION_ACTIVE)/.test(sqliteCode(error))
}

/** Returns whether a server rejected the statement. Any other error may come from the network. */
export function isRejectedStatement(error: unknown): boolean {
  return /^SQL/.test(sqliteCode(error)) && isStatementFault(error)
}

const CODES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  5: 'SQLITE_BUSY',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  25: 'SQLITE_RANGE',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
}

/** Returns the code of an error of any driver as text, or an empty string. */
export function sqliteCode(error: unknown): string {
  if (!(error instanceof Error)) return ''
  // Of `node:sqlite`.
  if ('errcode' in error && typeof error.errcode === 'number')
    return CODES[error.errcode] ?? CODES[error.errcode & 0xff] ?? 'SQLITE'
  // Of `@libsql/client`, whose `code` doesn't say which constraint.
  if ('extendedCode' in error && typeof error.extendedCode === 'string') return error.extendedCode
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Returns whether the statement is at fault, such as a broken constraint, or a value that can't be bound. */
function isStatementFault(error: unknown): boolean {
  const code = sqliteCode(error)
  if (code === '') return !(error instanceof TypeError && error.message.includes('connection is not open'))
  if (!/^(SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)|SQL_|ERR_INVALID_ARG)/.test(code)) return false
  // All drivers then report the code of better-sqlite3.
  if (error instanceof Error) Object.assign(error, { code })
  return true
}
