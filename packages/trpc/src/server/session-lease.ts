import {
  type AuthConfig,
  type AuthStore,
  denial,
  type Identity,
  isAuthError,
  isUndecided,
  type Session,
} from '@sallyport/core'
import { GRACE_SECONDS } from '@sallyport/core/protocol'
import type { Admission } from './auth-handle.ts'
import { LEASE_MS, type Renewals } from './lease-queue.ts'
import { readForAll } from './shared-read.ts'

/** Something that rests on a session. */
export interface Holder {
  readonly identity: Identity
  /** Whether it emits: then the session is read again before the lease ends. Else only when something has happened to it. */
  readonly emits: boolean
  /** Called with every read that found the session in order. */
  confirm(session: Session): void
  /** Called with every refusal, which ends what emits. */
  refuse(error: unknown): void
}

/** The share of a holder in its session. */
export interface Lease {
  /** What has to be awaited before anything is emitted; null when the session is known to count. */
  verdict(): Promise<void> | null
  leave(): void
}

/** One session, whatever rests on it. */
export interface HeldSession {
  /** How many emit. */
  readonly emitting: number
  join(admission: Admission, holder: Holder): Lease
  /** Something has happened to the session: nothing is emitted until a read that begins from now on has answered. */
  check(): void
  /** Reads the session before the lease ends. Nobody waits for it. */
  renew(): void
}

/** What the sessions of a store share. */
export interface Holding {
  readonly store: AuthStore
  readonly config: AuthConfig
  readonly renewals: Renewals<HeldSession>
  readonly inTurn: (job: () => void) => void
}

/**
 * Reads a session for all that rests on it.
 *
 * @param onEmpty called when nothing rests on it any more
 */
export function holdSession(
  { sessionId, userId, version }: Pick<Identity, 'sessionId' | 'userId' | 'version'>,
  { store, config, renewals, inTurn }: Holding,
  onEmpty: () => void,
): HeldSession {
  /** Each with its proof: those of one proof are judged together. */
  const holders = new Map<Holder, string>()
  let emitting = 0
  /** When the last read began that found the session in order, on the monotonic clock. */
  let readAt = 0
  /** When the session expires, or this version of it if that comes first. */
  let validUntil = 0
  /** Whether a refresh has rotated this version out. */
  let isRotatedOut = false
  let expiry: ReturnType<typeof setTimeout> | undefined
  /** Checks that have no verdict yet. */
  let unanswered = 0
  /** Whether one of them has yet to begin. */
  let isWaiting = false
  let answer: PromiseWithResolvers<void> | null = null

  function check(): void {
    // A read that has yet to begin answers for this, too.
    if (isWaiting) return
    isWaiting = true
    unanswered++
    inTurn(beginCheck)
  }

  async function beginCheck(): Promise<void> {
    isWaiting = false
    await read({ isRenewal: false })
    unanswered--
    answer?.resolve()
    answer = null
  }

  async function read({ isRenewal }: { isRenewal: boolean }): Promise<void> {
    const startedAt = performance.now()
    const identities = new Map<string, Identity>()
    for (const [{ identity }, proof] of holders) identities.set(proof, identity)
    const { session, refusals } = await readForAll(identities, {
      config: isRenewal ? withinLease(startedAt) : config,
      adapter: store.sessions,
    })
    for (const [proof, error] of refusals) refuse(proof, { error, isRenewal })
    if (session !== null) confirm(session, startedAt)
  }

  /** An answer is waited for until the lease is over, not longer. */
  function withinLease(now: number): AuthConfig {
    const left = readAt + LEASE_MS - now
    const isShort = left > 0 && left < config.lookupTimeoutMs
    return isShort ? { ...config, lookupTimeoutMs: left } : config
  }

  function confirm(session: Session, startedAt: number): void {
    renewals.settle(held)
    if (startedAt >= readAt) {
      readAt = startedAt
      validUntil = validUntilOf(session)
      awaitExpiry()
    }
    for (const holder of holders.keys()) holder.confirm(session)
  }

  function refuse(proof: string, { error, isRenewal }: { error: unknown; isRenewal: boolean }): void {
    const isOpen = isUndecided(error)
    // A read that is tried again has refused nobody, and is not reported.
    if (!isOpen || !isRenewal || isOver()) {
      if (emitting > 0 && isAuthError(error)) void denial(error.reason, sessionId, config)
      for (const [holder, ofHolder] of holders) if (ofHolder === proof) holder.refuse(error)
    }
    // Whoever has not been ended by it is still owed the answer.
    if (isOpen && holders.size > 0) renewals.retry(held)
  }

  function isOver(): boolean {
    return performance.now() - readAt >= LEASE_MS
  }

  /** In milliseconds since 1970. A version that was rotated out ends with its grace period. */
  function validUntilOf(session: Session): number {
    isRotatedOut = session.version !== version && version !== null && session.version !== null
    const expiresAt = session.expiresAt.getTime()
    if (!isRotatedOut) return expiresAt
    const rotatedAt = new Date(session.rotatedAt ?? 0).getTime()
    return Math.min(expiresAt, rotatedAt + GRACE_SECONDS * 1000 + 1)
  }

  /** Sets a timer only for an expiry that the next read would find too late. */
  function awaitExpiry(): void {
    clearTimeout(expiry)
    const delay = validUntil - config.now().getTime()
    if (!isRotatedOut && (emitting === 0 || delay > LEASE_MS)) return
    expiry = setTimeout(check, Math.max(delay, 0))
    // A socket without streams must not keep the process alive.
    if (emitting === 0) expiry.unref()
  }

  function verdict(): Promise<void> | null {
    // Timers are late where the process was stopped.
    const isKnown = !isOver() && config.now().getTime() < validUntil
    if (unanswered === 0 && !isKnown) check()
    if (unanswered === 0) return null
    answer ??= Promise.withResolvers()
    return answer.promise
  }

  function join({ identity, session, readAt: admittedAt }: Admission, holder: Holder): Lease {
    holders.set(holder, JSON.stringify([identity.issuer, identity.keyId, identity.expiresAt]))
    const isOnly = holders.size === 1
    validUntil = Math.min(isOnly ? Number.POSITIVE_INFINITY : validUntil, validUntilOf(session))
    if (holder.emits) {
      const isFirst = emitting++ === 0
      // What was read for one alone does not speak for the others, nor theirs for it: the oldest counts.
      readAt = isFirst ? admittedAt : Math.min(readAt, admittedAt)
      if (isFirst) renewals.keep(held)
    }
    awaitExpiry()
    return { verdict: () => (holders.has(holder) ? verdict() : null), leave: () => leave(holder) }
  }

  function leave(holder: Holder): void {
    if (!holders.delete(holder)) return
    if (holder.emits) emitting--
    if (emitting === 0) renewals.drop(held)
    awaitExpiry()
    if (holders.size > 0) return
    clearTimeout(expiry)
    renewals.settle(held)
    unsubscribe()
    onEmpty()
  }

  const held: HeldSession = {
    get emitting() {
      return emitting
    },
    join,
    check,
    renew: () => inTurn(() => read({ isRenewal: true })),
  }
  const unsubscribe = store.revocations.subscribe({ sessionId, userId }, check)
  return held
}
