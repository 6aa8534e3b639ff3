import { type AuthConfig, type AuthStore, keysVersion, type Session, validateIdentity } from '@sallyport/core'
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
  /** Ends the watch because nobody is there any more, and aborts the signal. */
  leave(): void
}

/**
 * Asks again whenever the session may have ended: on a revocation that concerns it, when a key is removed, and when `expiresAt` is
 * reached, which a renewal may have moved.
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
    for (const unsubscribe of subscriptions) unsubscribe()
    caller?.removeEventListener('abort', leave)
  }

  function leave(): void {
    stop()
    controller.abort(caller?.reason)
  }

  function check(): void {
    const current: Promise<void> = validateIdentity(identity, { config, adapter: store.sessions }).then(
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
    if (delay <= 0) check()
    else timer = setTimeout(check, Math.min(delay, LONGEST_TIMEOUT_MS))
  }

  const subscriptions = [
    store.revocations.subscribe(identity, check),
    ...config.issuers.map(({ jwks }) => jwks.subscribe(check)),
  ]
  expireWith(admission.session)
  if (caller?.aborted) leave()
  else caller?.addEventListener('abort', leave, { once: true })
  // A session was revoked or a key removed between the read that let the call in and this line.
  const isCurrent =
    store.revocations.revision === admission.revision && keysVersion(config) === admission.keysVersion
  if (!isStopped && !isCurrent) check()

  return {
    signal: controller.signal,
    get pending() {
      return pending
    },
    stop,
    leave,
  }
}
