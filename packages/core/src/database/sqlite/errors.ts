import { setTimeout as sleep } from 'node:timers/promises'
import { AuthError } from '../../protocol/errors.ts'
import { backOff } from '../../protocol.ts'

const BUSY_PAUSE = { minMs: 1, maxMs: 50 }

export type RetryWhileBusy = <Result>(execute: () => Promise<Result>) => Promise<Result>

/** Retries while another process holds the write lock. After `timeoutMs`, it's `SESSIONS_UNAVAILABLE`. */
export function createBusyRetry(timeoutMs: number): RetryWhileBusy {
  let timedOutAt = Number.NEGATIVE_INFINITY

  return async function retryWhileBusy(execute) {
    const startedAt = performance.now()
    // A statement queued behind one that timed out has waited as long, so it gets one attempt.
    const deadline = startedAt - timedOutAt < timeoutMs ? startedAt : startedAt + timeoutMs
    for (let attempts = 1; ; attempts++) {
      try {
        const result = await execute()
        timedOutAt = Number.NEGATIVE_INFINITY
        return result
      } catch (error) {
        if (isStatementFault(error)) throw error
        const isBusy = sqliteCode(error).startsWith('SQLITE_BUSY')
        const now = performance.now()
        if (isBusy && now >= deadline) timedOutAt = now
        if (!isBusy || now >= deadline) throw new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
      }
      await sleep(backOff(attempts, BUSY_PAUSE))
    }
  }
}

function sqliteCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Returns whether the statement is at fault, such as a broken constraint, or a value that can't be bound. */
function isStatementFault(error: unknown): boolean {
  const code = sqliteCode(error)
  if (code === '') return !(error instanceof TypeError && error.message.includes('connection is not open'))
  return /^SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)/.test(code)
}
