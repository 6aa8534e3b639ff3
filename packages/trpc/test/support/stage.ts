import { EventEmitter } from 'node:events'
import { deferred } from './deferred.ts'

/** What the procedures of the test app act on, and what they leave behind. */
export interface Stage {
  /** Paths of the calls that were let in, in order. */
  readonly runs: string[]
  /** Asks for the session's signal when the call is long over, as background work of an app may. */
  askForSignalLate(): AbortSignal | undefined
  /** Whether the session's signal had aborted when a stream was cleaned up. */
  readonly abortedAtCleanup: boolean[]
  /** Emit `tick`, and every open clock yields the value. */
  readonly ticker: EventEmitter
  /** What slow middlewares wait for; open unless a test closes it. */
  readonly gate: Promise<void>
  closeGate(): void
  openGate(): void
  /** Ends a session, as an app's own procedure would. */
  readonly revoke: (sessionId: string) => Promise<unknown>
}

export function createStage(revoke: Stage['revoke']): Stage {
  let gate = deferred<void>()
  gate.resolve()
  return {
    runs: [],
    askForSignalLate: () => undefined,
    abortedAtCleanup: [],
    ticker: new EventEmitter().setMaxListeners(0),
    get gate() {
      return gate.promise
    },
    closeGate() {
      gate = deferred()
    },
    openGate: () => gate.resolve(),
    revoke,
  }
}
