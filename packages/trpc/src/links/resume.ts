import type { Operation } from '@trpc/client'
import { backOff, pause } from '../client/back-off.ts'
import { authDataOf, type CallError, isOutage } from './call-error.ts'
import type { Call, Envelope, Intercept } from './send-call.ts'

/**
 * After this long, a subscription is healthy and its back-off starts over. Longer than the lease of a session
 * that the server can't read again, and shorter than the 10 s after which some platforms end all responses.
 */
const HEALTHY_MS = 8_000
/** The same for one that the server hasn't accepted, such as while the browser is offline. */
const WAITED_MS = 30_000

export interface Resumption {
  /** Begins another attempt, and returns the operation to send: it continues after the last event. */
  begin(): Operation
  readonly intercept: Intercept
  readonly showOutage: (error: CallError) => void
  /** Whether the server has accepted the attempt. */
  hasBegun: boolean
  /** Returns whether the attempt that ended was healthy. */
  end(): boolean
  wait(error: CallError): Promise<void>
}

export function createResumption(call: Call): Resumption {
  let failures = 0
  let sentAt = 0
  let lastEventId: string | undefined
  let isOut = false

  function show(error: CallError | null): void {
    isOut = error !== null
    const state = error ? 'connecting' : 'pending'
    call.observer.next({ result: { type: 'state', state, error } as ConnectionState })
  }

  const resumption: Resumption = {
    hasBegun: false,
    begin() {
      resumption.hasBegun = false
      sentAt = performance.now()
      if (!lastEventId || typeof (call.op.input ?? {}) !== 'object') return call.op
      // tRPC's links continue after an event the same way.
      return { ...call.op, input: { ...(call.op.input as object | null), lastEventId } }
    },
    intercept({ result }) {
      // `id` is set if the server used `tracked()`.
      const { type, error, id }: { type?: string; error?: CallError | null; id?: string } = result
      if (type !== 'state') {
        resumption.hasBegun = true
        if (isOut) show(null)
      } else if (error) {
        if (isOutage(error)) return error
      } else if (isOut) return false
      lastEventId = id ?? lastEventId
      return true
    },
    showOutage: show,
    end() {
      const hasLasted = performance.now() - sentAt > (resumption.hasBegun ? HEALTHY_MS : WAITED_MS)
      if (!hasLasted) return resumption.hasBegun
      failures = 0
      return true
    },
    async wait(error) {
      show(error)
      await pause(backOff(++failures, authDataOf(error).retryAfterSeconds), (end) => {
        // The next attempt replaces it.
        call.signal.onabort = end
        return () => {}
      })
    },
  }
  return resumption
}

type ConnectionState = Extract<Envelope['result'], { type: 'state' }>
