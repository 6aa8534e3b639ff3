import { type AuthConfig, type AuthStore, type Session, validateSession } from '@sallyport/core'
import type { Admission } from './auth-handle.ts'
import { toTRPCError } from './errors.ts'

/** The longest delay that `setTimeout` keeps, in milliseconds: about 24.8 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** Watches one session for as long as something rests on it. */
export interface SessionWatch {
  /** Aborts when the session no longer counts, with the `TRPCError` to answer with; or with the caller's own signal. */
  readonly signal: AbortSignal
  /** The check under way, if any: nothing may be emitted before it has ended. */
  readonly pending: Promise<void> | null
  /** Ends the watch. */
  stop(): void
}

/**
 * Reads the session again whenever it may have ended: on a revocation that concerns it, and when `expiresAt` is reached, which a
 * renewal may have moved.
 *
 * @param options.caller aborts when the caller goes away: a source that never notices must not be watched for ever
 */
export function watchSession(
  admission: Admission,
  store: AuthStore,
  { config, caller }: { config: AuthConfig; caller: AbortSignal | undefined },
): SessionWatch {
  const { identity } = admission
  const controller = new AbortController()
  let pending: Promise<void> | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false

  function stop(): void {
    isStopped = true
    clearTimeout(timer)
    unsubscribe()
    caller?.removeEventListener('abort', leave)
  }

  function leave(): void {
    stop()
    controller.abort(caller?.reason)
  }

  function check(): void {
    const current: Promise<void> = validateSession(identity, store.sessions, config).then(
      (session) => {
        // A later check has taken over.
        if (pending !== current) return
        pending = null
        if (!isStopped) expireWith(session)
      },
      (error: unknown) => {
        // Any refusal ends the watch, even one that a later check would not repeat.
        stop()
        pending = null
        controller.abort(toTRPCError(error))
      },
    )
    pending = current
  }

  function expireWith(session: Session): void {
    clearTimeout(timer)
    const delay = session.expiresAt.getTime() - config.now().getTime()
    timer = setTimeout(check, Math.min(Math.max(delay, 0), LONGEST_TIMEOUT_MS))
  }

  const unsubscribe = store.revocations.subscribe(identity, check)
  expireWith(admission.session)
  if (caller?.aborted) leave()
  else caller?.addEventListener('abort', leave, { once: true })
  // Something was revoked between the read that let the call in and this line.
  if (!isStopped && store.revocations.revision !== admission.revision) check()

  return {
    signal: controller.signal,
    get pending() {
      return pending
    },
    stop,
  }
}
