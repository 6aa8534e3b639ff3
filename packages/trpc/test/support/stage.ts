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
  /** Numbers that were counted so far; a subscription to them goes on where its client has stopped. */
  readonly counted: number
  /** Counts on by so many. */
  count(by: number): void
  /** What slow middlewares wait for; open unless a test closes it. */
  readonly gate: Promise<void>
  closeGate(): void
  openGate(): void
  /** Ends a session, as an app's own procedure would. */
  readonly revoke: (sessionId: string) => Promise<unknown>
}

export function createStage(revoke: Stage['revoke']): Stage {
  let gate = deferred<void>()
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
      gate = deferred()
    },
    openGate: () => gate.resolve(),
    revoke,
  }
}
