import type { AuthConfig, AuthError, AuthStore, Session } from '@sallyport/core'
import type { Admission } from './auth-handle.ts'
import { toTRPCError } from './errors.ts'
import { leasesOf } from './session-leases.ts'

/** Watches one session for as long as something rests on it. */
export interface SessionWatch {
  /** Aborts when the session no longer counts, with the `TRPCError` to answer with; or with the caller's own signal. */
  readonly signal: AbortSignal
  /** What has to be awaited before anything is emitted; null when nothing. Ask again when it has resolved. */
  verdict(): Promise<void> | null
  /** Ends the watch. */
  stop(): void
  /** Ends the watch because nobody is there any more, and aborts the signal. */
  leave(): void
}

/** What a call needs of its session besides that it counts: the refusal when it is not so. */
export type Condition = (session: Session) => AuthError | null

/**
 * Holds the lease of a session for one call: it is read again on a revocation that concerns it, when a key is removed, when `expiresAt` is
 * reached, which a renewal may have moved, and before the lease ends.
 *
 * @param options.caller aborts when the caller goes away: a source that never notices must not be watched for ever
 * @param options.conditions what is held against each later read
 */
export function watchSession(
  admission: Admission,
  store: AuthStore,
  {
    config,
    caller,
    conditions = [],
  }: { config: AuthConfig; caller: AbortSignal | undefined; conditions?: readonly Condition[] },
): SessionWatch {
  const controller = new AbortController()

  function stop(): void {
    lease.leave()
    caller?.removeEventListener('abort', leave)
  }

  function leave(): void {
    stop()
    controller.abort(caller?.reason)
  }

  function refuse(error: unknown): void {
    stop()
    controller.abort(toTRPCError(error))
  }

  function confirm(session: Session): void {
    for (const refusalOf of conditions) {
      const refusal = refusalOf(session)
      if (refusal === null) continue
      refuse(refusal)
      return
    }
  }

  const lease = leasesOf(store, config)(admission, {
    identity: admission.identity,
    emits: true,
    confirm,
    refuse,
  })
  if (caller?.aborted) leave()
  else caller?.addEventListener('abort', leave, { once: true })
  return { signal: controller.signal, verdict: lease.verdict, stop, leave }
}
