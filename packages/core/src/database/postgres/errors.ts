import { AuthError, isAuthError } from '../../protocol/errors.ts'
import { isConflict } from '../../session/conflict.ts'

/** The statement is at fault, or the state of its transaction: wrong SQL, a value of the wrong type, a broken constraint. */
const STATEMENT_FAULTS = /^(0A|21|22|23|25P02|2F|34|3B|42|44|P0)/

/** The SQLSTATE of an error of the database; null for one of the connection. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null
}

/** Whether the connection is as good as before the statement that failed. */
export function isStatementFault(error: unknown): boolean {
  const state = sqlState(error)
  return isConflict(error) || (state !== null && STATEMENT_FAULTS.test(state))
}

/** What failed because the database could not answer becomes `SESSIONS_UNAVAILABLE`; what the statement is at fault for stays. */
export function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    if (isAuthError(error) || isStatementFault(error)) throw error
    throw new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
  })
}
