import type { Operation } from '@trpc/client'
import { backOff, pause } from '../client/back-off.ts'
import { authDataOf, type CallError, isOutage } from './call-error.ts'
import type { Call, Envelope, Intercept } from './send-call.ts'

/** After this long, a subscription counts as healthy and its back-off starts over. */
const HEALTHY_MS = 30_000

export interface Resumption {
  /** Begins another attempt, and returns the operation to send: it continues after the last event. */
  begin(): Operation
  readonly intercept: Intercept
  /** Shows an error in the connection state. */
  readonly showOutage: (error: CallError) => void
  /** Whether the server accepted the attempt that ended, or it lasted. */
  end(): { hasBegun: boolean; isHealthy: boolean }
  wait(error: CallError): Promise<void>
}

export function createResumption({ op, observer, signal }: Call): Resumption {
  let failures = 0
  let hasBegun = false
  let sentAt = 0
  let lastEventId: string | undefined
  let isOut = false

  function show(error: CallError | null): void {
    isOut = error !== null
    const state = error ? 'connecting' : 'pending'
    observer.next({ result: { type: 'state', state, error } as ConnectionState })
  }

  return {
    begin() {
      hasBegun = false
      sentAt = performance.now()
      return afterEvent(op, lastEventId)
    },
    intercept({ result }) {
      const { type, error, id }: AnyResult = result
      if (type !== 'state') {
        hasBegun = true
        if (isOut) show(null)
      } else if (error) {
        if (isOutage(error)) return error
      } else if (isOut) return false
      lastEventId = id ?? lastEventId
      return true
    },
    showOutage: show,
    end() {
      const hasLasted = performance.now() - sentAt > HEALTHY_MS
      if (hasLasted) failures = 0
      return { hasBegun, isHealthy: hasBegun || hasLasted }
    },
    async wait(error) {
      show(error)
      const { retryAfterSeconds = null } = authDataOf(error)
      await pause(backOff(++failures, retryAfterSeconds), (end) => {
        signal.addEventListener('abort', end)
        return () => signal.removeEventListener('abort', end)
      })
    },
  }
}

/** Continues a subscription after an event, through its input, as tRPC's own links do. */
function afterEvent(op: Operation, lastEventId: string | undefined): Operation {
  const { input } = op
  if (!lastEventId || typeof (input ?? {}) !== 'object') return op
  return { ...op, input: { ...(input as object | null), lastEventId } }
}

interface AnyResult {
  readonly type?: string
  /** Set if the server used `tracked()`. */
  readonly id?: string
  readonly error?: CallError | null
}

type ConnectionState = Extract<Envelope['result'], { type: 'state' }>
