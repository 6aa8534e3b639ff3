import type { AuthConfig, AuthStore, Identity } from '@sallyport/core'
import { keysVersion } from '@sallyport/core/internal/server'
import type { SessionRead } from './auth-handle.ts'
import { createReadQueue, createRenewals } from './lease-queue.ts'
import { type LeaseSubscriber, SessionLease } from './session-lease.ts'

/** What a subscriber has of the lease of its session. */
export interface LeaseSubscription {
  /** Returns a promise to await before emitting; null while the session is known to be valid. Ask again when it resolves. */
  pending(): Promise<void> | null
  end(): void
}

type Subscribe = (read: SessionRead, subscriber: LeaseSubscriber) => LeaseSubscription

const leasesByStore = new WeakMap<AuthStore, WeakMap<AuthConfig, Subscribe>>()

/**
 * Subscribes a call or a socket to the lease of its session. In this process, each session of a store has one
 * lease for all subscribers.
 *
 * @param read the read that authorized the call or the socket
 */
export function subscribeToLease(
  read: SessionRead,
  subscriber: LeaseSubscriber,
  config: AuthConfig,
): LeaseSubscription {
  const leases = leasesByStore.get(read.store) ?? new WeakMap<AuthConfig, Subscribe>()
  leasesByStore.set(read.store, leases)
  const subscribe = leases.get(config) ?? createLeases(read.store, config)
  leases.set(config, subscribe)
  return subscribe(read, subscriber)
}

interface OpenLease {
  readonly lease: SessionLease
  readonly unsubscribe: () => void
}

function createLeases(store: AuthStore, config: AuthConfig): Subscribe {
  const leases = new Map<string, OpenLease>()
  const renewals = createRenewals<SessionLease>((lease) => lease.renew())
  const shared = { store, config, renewals, queue: createReadQueue() }
  let unsubscribeFromKeys: (() => void)[] = []

  function checkKeys(): void {
    for (const { lease } of leases.values()) if (lease.isEmitting) lease.check()
  }

  /** The start of the path to the end of a stream: a revocation that concerns the session, or a change of the keys. */
  function open(name: string, identity: Identity): OpenLease {
    const lease = new SessionLease(identity, shared)
    const opened = { lease, unsubscribe: store.revocations.subscribe(identity, () => lease.check()) }
    if (leases.size === 0) unsubscribeFromKeys = config.issuers.map(({ jwks }) => jwks.subscribe(checkKeys))
    leases.set(name, opened)
    return opened
  }

  function close(name: string, { unsubscribe }: OpenLease): void {
    unsubscribe()
    leases.delete(name)
    if (leases.size === 0) for (const unsubscribe of unsubscribeFromKeys) unsubscribe()
  }

  return (read, subscriber) => {
    const { sessionId, userId, version } = read.identity
    // Two versions never share a result: one of them has been replaced.
    const name = JSON.stringify([sessionId, userId, version])
    const opened = leases.get(name) ?? open(name, read.identity)
    const { lease } = opened
    lease.add(subscriber, read)
    // A session was revoked or a key removed after the read.
    const isCurrent = read.revision === store.revocations.revision && read.keysVersion === keysVersion(config)
    if (!isCurrent) lease.check()
    return {
      pending: () => lease.pending(subscriber),
      end: () => lease.remove(subscriber) && close(name, opened),
    }
  }
}
