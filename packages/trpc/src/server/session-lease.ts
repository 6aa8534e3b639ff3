import type { AuthConfig, AuthStore, Identity, Session, SessionReader } from '@sallyport/core'
import { isAuthError } from '@sallyport/core'
import { GRACE_SECONDS } from '@sallyport/core/internal/protocol'
import {
  isKeyTrusted,
  isUnavailable,
  MAX_TIMER_MS,
  reportLater,
  validateIdentity,
} from '@sallyport/core/internal/server'
import { LEASE_MS, type ReadQueue, type Renewals } from './lease-queue.ts'
import type { SessionRead } from './session-read.ts'

export interface LeaseSubscriber {
  /** If true, the session is read again before the lease ends; otherwise only after an event. */
  readonly emits: boolean
  onSession(session: Session): void
  /** Called after each read that failed or found the session invalid. A subscriber that emits must end. */
  onError(error: unknown): void
}

interface SharedByLeases {
  readonly store: AuthStore
  readonly config: AuthConfig
  /** Reports nothing: a failed renewal may be retried. */
  readonly quiet: AuthConfig
  readonly queue: ReadQueue
  readonly renewals: Renewals<SessionLease>
}

/** The lease of one version of a session: reads it again for all subscribers, and passes them the result. */
export class SessionLease {
  readonly identity: Identity
  readonly #shared: SharedByLeases
  readonly #unsubscribe: () => void
  /** The identity of each subscriber. Equal keys share a result. */
  readonly #subscribers = new Map<LeaseSubscriber, Identity>()
  #emitting = 0
  /** When the last read began that found the session valid, on the monotonic clock. */
  #readAt = 0
  /** When the session expires, or this version if that comes first, in milliseconds since 1970. */
  #validUntil = Number.POSITIVE_INFINITY
  #isRotatedOut = false
  #expiry: ReturnType<typeof setTimeout> | undefined
  /** When the first revocation after the start of the last read was announced; null without telemetry. */
  #announcedAt: number | null = null
  #pendingChecks = 0
  #isQueued = false
  #nextResult: PromiseWithResolvers<void> | null = null

  constructor(identity: Identity, shared: SharedByLeases) {
    this.identity = identity
    this.#shared = shared
    this.#unsubscribe = shared.store.revocations.subscribe(identity, () => this.#onRevocation())
  }

  /** Returns whether the key of a subscriber's JWT has leaked. Nothing that it signed is valid. */
  hasLeakedKey(): boolean {
    const identities = [...this.#subscribers.values()]
    return !identities.every((identity) => isKeyTrusted(identity, this.#shared.config))
  }

  add(subscriber: LeaseSubscriber, { identity, session, readAt }: SessionRead): void {
    this.#subscribers.set(subscriber, identity)
    this.#validUntil = Math.min(this.#validUntil, this.#validUntilOf(session))
    if (subscriber.emits) {
      const isFirst = this.#emitting++ === 0
      // Each subscriber was authorized by another read: the oldest one decides.
      this.#readAt = isFirst ? readAt : Math.min(this.#readAt, readAt)
      if (isFirst) this.#shared.renewals.keep(this)
    }
    this.#awaitExpiry()
  }

  /** Returns true for the last subscriber. */
  remove(subscriber: LeaseSubscriber): boolean {
    if (!this.#subscribers.delete(subscriber)) return false
    if (subscriber.emits) this.#emitting--
    if (this.#emitting === 0) this.#shared.renewals.drop(this)
    this.#awaitExpiry()
    if (this.#subscribers.size > 0) return false
    clearTimeout(this.#expiry)
    this.#shared.renewals.cancelRetry(this)
    this.#unsubscribe()
    return true
  }

  #onRevocation(): void {
    if (this.#shared.config.telemetry !== undefined) this.#announcedAt ??= performance.now()
    this.check()
  }

  /** Reads the session again. Nothing is emitted until a read that begins from now on has a result. */
  check(): void {
    // A read that is still in the queue covers this event, too.
    if (this.#isQueued) return
    this.#isQueued = true
    this.#pendingChecks++
    this.#shared.queue(async () => {
      this.#isQueued = false
      await this.#read({ isRenewal: false })
      this.#pendingChecks--
      this.#nextResult?.resolve()
      this.#nextResult = null
    })
  }

  renew(): void {
    this.#shared.queue(() => this.#read({ isRenewal: true }))
  }

  /** Returns a promise to await before the subscriber emits; null if the session is known to be valid. */
  pending(subscriber: LeaseSubscriber): Promise<void> | null {
    if (!this.#subscribers.has(subscriber)) return null
    if (this.#pendingChecks === 0) {
      // Timers are late if the process was stopped.
      if (!this.#isOver() && this.#shared.config.now().getTime() < this.#validUntil) return null
      this.check()
    }
    this.#nextResult ??= Promise.withResolvers()
    return this.#nextResult.promise
  }

  /** Runs Step 2 for all subscribers, with one lookup. */
  async #read({ isRenewal }: { isRenewal: boolean }): Promise<void> {
    const { store, quiet } = this.#shared
    const startedAt = performance.now()
    const left = this.#readAt + LEASE_MS - startedAt
    const maxMs = isRenewal && !this.#isOver() ? left : Number.POSITIVE_INFINITY
    const config = maxMs < quiet.lookupTimeoutMs ? { ...quiet, lookupTimeoutMs: maxMs } : quiet
    const options = { config, sessions: lookUpOnce(store.sessions) }
    const identities = new Map<string, Identity>()
    for (const identity of this.#subscribers.values()) identities.set(keyOf(identity), identity)
    let session: Session | null = null
    for (const [key, identity] of identities) {
      try {
        session = await validateIdentity(identity, options)
      } catch (error) {
        this.#reject(key, { error, isRenewal })
      }
    }
    if (session !== null) this.#accept(session, startedAt)
  }

  #accept(session: Session, startedAt: number): void {
    const { renewals, config } = this.#shared
    renewals.cancelRetry(this)
    if (this.#announcedAt !== null && startedAt >= this.#announcedAt) this.#announcedAt = null
    if (startedAt >= this.#readAt) {
      if (this.#emitting > 0)
        config.telemetry?.record('leaseAge', (performance.now() - this.#readAt) / 1000, {})
      this.#readAt = startedAt
      this.#validUntil = this.#validUntilOf(session)
      this.#awaitExpiry()
    }
    for (const subscriber of this.#subscribers.keys()) subscriber.onSession(session)
  }

  #reject(key: string, { error, isRenewal }: { error: unknown; isRenewal: boolean }): void {
    const { config, renewals } = this.#shared
    const isUnknown = isUnavailable(error)
    if (!isUnknown || !isRenewal || this.#isOver()) {
      if (this.#emitting > 0 && isAuthError(error)) reportLater(error.reason, this.identity.sessionId, config)
      for (const [subscriber, identity] of this.#subscribers) {
        if (keyOf(identity) !== key) continue
        subscriber.onError(error)
        if (this.#announcedAt !== null && subscriber.emits && !isUnknown) this.#recordEnd(this.#announcedAt)
      }
    }
    if (isUnknown && this.#subscribers.size > 0) renewals.retry(this)
  }

  #recordEnd(announcedAt: number): void {
    const delay = (performance.now() - announcedAt) / 1000
    this.#shared.config.telemetry?.record('revocationDelay', delay, {})
  }

  #isOver(): boolean {
    return performance.now() - this.#readAt >= LEASE_MS
  }

  /** A version that was rotated out ends with its grace period. */
  #validUntilOf({ version, rotatedAt, expiresAt }: Session): number {
    const own = this.identity.version
    this.#isRotatedOut = version !== own && own !== null && version !== null
    if (!this.#isRotatedOut) return expiresAt.getTime()
    const graceEndsAt = new Date(rotatedAt ?? 0).getTime() + GRACE_SECONDS * 1000 + 1
    return Math.min(expiresAt.getTime(), graceEndsAt)
  }

  /** Sets a timer only if the next read would be too late. */
  #awaitExpiry(): void {
    clearTimeout(this.#expiry)
    const delay = this.#validUntil - this.#shared.config.now().getTime()
    if (!this.#isRotatedOut && (this.#emitting === 0 || delay > LEASE_MS)) return
    // After the clock was set back by weeks, a timer would overflow and fire at once.
    this.#expiry = setTimeout(() => this.check(), Math.min(Math.max(delay, 0), MAX_TIMER_MS))
    // A socket without streams must not keep the process alive. On the edge, a timer is a number.
    if (this.#emitting === 0) this.#expiry.unref?.()
  }
}

/** Identities of a version with equal keys prove the same. */
function keyOf({ issuer, keyId, expiresAt }: Identity): string {
  return JSON.stringify([issuer, keyId, expiresAt])
}

function lookUpOnce(sessions: SessionReader): SessionReader {
  let lookup: ReturnType<SessionReader['findSession']> | undefined
  return {
    meter: sessions.meter,
    findSession(key) {
      // Null means that the session wasn't found.
      if (lookup === undefined) lookup = sessions.findSession(key)
      return lookup
    },
  }
}
