import { EventEmitter } from 'node:events'

/** What the test app's procedures use and record. */
export interface Stage {
  /** The paths of accepted calls, in order. */
  readonly runs: string[]
  /** Reads the session's signal long after the call, as an app's background work may. */
  askForSignalLate(): AbortSignal | undefined
  /** Whether the session's signal had aborted at each stream's cleanup. */
  readonly abortedAtCleanup: boolean[]
  /** Emit `tick` to make every open clock yield the value. */
  readonly ticker: EventEmitter
  /** The numbers counted so far. A subscription to them resumes where its client stopped. */
  readonly counted: number
  /** Counts this many more numbers. */
  count(by: number): void
  /** Slow middlewares wait for this. It is open unless a test closes it. */
  readonly gate: Promise<void>
  closeGate(): void
  openGate(): void
  /** Ends a session, as an app's procedure does. */
  readonly revoke: (sessionId: string) => Promise<unknown>
}

export function createStage(revoke: Stage['revoke']): Stage {
  let gate = Promise.withResolvers<void>()
  let counted = 0
  const ticker = new EventEmitter().setMaxListeners(0)
  gate.resolve()
  return {
    runs: [],
    askForSignalLate: () => undefined,
    abortedAtCleanup: [],
    ticker,
    get counted() {
      return counted
    },
    count(by) {
      counted += by
      ticker.emit('count')
    },
    get gate() {
      return gate.promise
    },
    closeGate() {
      gate = Promise.withResolvers()
    },
    openGate: () => gate.resolve(),
    revoke,
  }
}
