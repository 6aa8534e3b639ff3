import { setTimeout as sleep } from 'node:timers/promises'
import { AuthError } from '../../protocol/errors.ts'
import { backOff } from '../../protocol.ts'

const BUSY_PAUSE = { minMs: 1, maxMs: 50 }

/** Runs a statement as soon as the file is free. */
export type WhenFree = <Result>(execute: () => Promise<Result>) => Promise<Result>

/**
 * Waits while another process holds the write lock. Asynchronously: the driver's own waiting would stop the event loop.
 *
 * @param timeoutMs how long, before it is given up with `SESSIONS_UNAVAILABLE`
 */
export function createPatience(timeoutMs: number): WhenFree {
  let exhaustedAt = Number.NEGATIVE_INFINITY

  return async function whenFree(execute) {
    const startedAt = performance.now()
    // Whoever stood in line behind a statement that was given up has waited as long: it is tried once.
    const givenUpAt = startedAt - exhaustedAt < timeoutMs ? startedAt : startedAt + timeoutMs
    for (let attempts = 1; ; attempts++) {
      try {
        const result = await execute()
        exhaustedAt = Number.NEGATIVE_INFINITY
        return result
      } catch (error) {
        if (isStatementFault(error)) throw error
        const isBusy = sqliteCode(error).startsWith('SQLITE_BUSY')
        const now = performance.now()
        if (isBusy && now >= givenUpAt) exhaustedAt = now
        if (!isBusy || now >= givenUpAt) throw new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
      }
      await sleep(backOff(attempts, BUSY_PAUSE))
    }
  }
}

function sqliteCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The statement is at fault, not the database: a broken constraint, wrong SQL, a value that cannot be bound. */
function isStatementFault(error: unknown): boolean {
  const code = sqliteCode(error)
  if (code === '') return !(error instanceof TypeError && error.message.includes('connection is not open'))
  return /^SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)/.test(code)
}
