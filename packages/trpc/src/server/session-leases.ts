import type { AuthConfig, AuthStore, Identity } from '@sallyport/core'
import { timersAreShared, withoutReports } from '@sallyport/core/internal/server'
import { createReadQueue, Renewals } from './lease-queue.ts'
import { type LeaseSubscriber, SessionLease } from './session-lease.ts'
import { isCurrent, type SessionRead } from './session-read.ts'

export interface LeaseSubscription {
  /** Returns null if the session is known to be valid, else a promise. Await it, then call this again. */
  pending(): Promise<void> | null
  end(): void
}

type Subscribe = (read: SessionRead, subscriber: LeaseSubscriber) => LeaseSubscription

const leasesByStore = new WeakMap<AuthStore, WeakMap<AuthConfig, Subscribe>>()

/**
 * Subscribes the call or socket that a read authorized to the one lease of its session in this process. In
 * Cloudflare Workers, each stream has its own: timers end with their request, and a signal can't be aborted
 * by another one.
 */
export function subscribeToLease(
  read: SessionRead,
  subscriber: LeaseSubscriber,
  config: AuthConfig,
): LeaseSubscription {
  if (!timersAreShared) return createLeases(read.store, config)(read, subscriber)
  const leases = leasesByStore.get(read.store) ?? new WeakMap<AuthConfig, Subscribe>()
  leasesByStore.set(read.store, leases)
  const subscribe = leases.get(config) ?? createLeases(read.store, config)
  leases.set(config, subscribe)
  return subscribe(read, subscriber)
}

function createLeases(store: AuthStore, config: AuthConfig): Subscribe {
  const leases = new Map<string, SessionLease>()
  const renewals = new Renewals<SessionLease>()
  const quiet = withoutReports(config)
  const shared = { store, config, quiet, renewals, queue: createReadQueue() }
  let unsubscribeFromKeys: (() => void)[] = []

  const onKeys = () => {
    for (const lease of leases.values()) if (lease.hasLeakedKey()) lease.check()
  }

  const remove = ({ identity }: SessionLease) => {
    leases.delete(nameOf(identity))
    if (leases.size === 0) for (const unsubscribe of unsubscribeFromKeys) unsubscribe()
  }

  return (read, subscriber) => {
    const name = nameOf(read.identity)
    const lease = leases.get(name) ?? new SessionLease(read.identity, shared)
    if (leases.size === 0) unsubscribeFromKeys = config.issuers.map(({ jwks }) => jwks.subscribe(onKeys))
    leases.set(name, lease)
    lease.add(subscriber, read)
    // A session was revoked or a key removed after the read.
    if (!isCurrent(read, store, config)) lease.check()
    return new Subscription(lease, subscriber, remove)
  }
}

/** Two versions never share a result: one of them has been replaced. */
function nameOf({ sessionId, userId, version }: Identity): string {
  return JSON.stringify([sessionId, userId, version])
}

/** One object without closures, because a process may have thousands of streams. */
class Subscription implements LeaseSubscription {
  readonly #lease: SessionLease
  readonly #subscriber: LeaseSubscriber
  readonly #onLast: (lease: SessionLease) => void

  constructor(lease: SessionLease, subscriber: LeaseSubscriber, onLast: (lease: SessionLease) => void) {
    this.#lease = lease
    this.#subscriber = subscriber
    this.#onLast = onLast
  }

  pending(): Promise<void> | null {
    return this.#lease.pending(this.#subscriber)
  }

  end(): void {
    if (this.#lease.remove(this.#subscriber)) this.#onLast(this.#lease)
  }
}
