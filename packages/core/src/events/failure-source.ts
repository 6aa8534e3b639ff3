import type { FailureCode } from './failure.ts'
import { reportFailure, reportRecovery } from './report-failure.ts'

/** Work in the background that fails and recovers. */
export interface FailureSource {
  /** What it hasn't recovered from. */
  readonly current: SourceFailure | null
  /** Calls the listener at each failure and each recovery, and at once if it fails now. */
  follow(listener: (failure: SourceFailure | null, last: SourceFailure) => void): () => void
}

interface SourceFailure {
  readonly code: FailureCode
  readonly cause: unknown
}

export interface OpenFailureSource extends FailureSource {
  fail(code: FailureCode, cause: unknown): void
  recover(): void
}

export function createFailureSource(): OpenFailureSource {
  const listeners = new Set<Parameters<FailureSource['follow']>[0]>()
  let current: SourceFailure | null = null

  return {
    get current() {
      return current
    },
    follow(listener) {
      listeners.add(listener)
      if (current !== null) listener(current, current)
      return () => listeners.delete(listener)
    },
    fail(code, cause) {
      const failure = { code, cause }
      current = failure
      for (const listener of listeners) listener(failure, failure)
    },
    recover() {
      const last = current
      current = null
      if (last !== null) for (const listener of listeners) listener(null, last)
    },
  }
}

/** Reports the failures and recoveries of a source under a path, until the returned function is called. */
export function reportSource(
  source: FailureSource | undefined,
  path: string,
  config: Parameters<typeof reportFailure>[2],
): () => void {
  const stop = source?.follow((failure, { code }) => {
    if (failure === null) reportRecovery(code, path, config)
    else reportFailure(failure.cause, { code, path, step: 'background' }, config)
  })
  return () => stop?.()
}
