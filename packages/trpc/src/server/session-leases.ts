import { type AuthConfig, type AuthStore, keysVersion } from '@sallyport/core'
import type { Admission } from './auth-handle.ts'
import { type HeldSession, type Holder, type Holding, holdSession, type Lease } from './session-lease.ts'
import { createRenewals } from './lease-queue.ts'
import { inTurns } from './turns.ts'

/** Joins the others that rest on the session of an admission. */
export type HoldLease = (admission: Admission, holder: Holder) => Lease

const leasesByStore = new WeakMap<AuthStore, WeakMap<AuthConfig, HoldLease>>()

/** The sessions of a store that something rests on in this process: each is read once for all that does. */
export function leasesOf(store: AuthStore, config: AuthConfig): HoldLease {
  const leases = leasesByStore.get(store) ?? new WeakMap<AuthConfig, HoldLease>()
  leasesByStore.set(store, leases)
  const hold = leases.get(config) ?? createLeases(store, config)
  leases.set(config, hold)
  return hold
}

function createLeases(store: AuthStore, config: AuthConfig): HoldLease {
  const sessions = new Map<string, HeldSession>()
  const renewals = createRenewals<HeldSession>((held) => held.renew())
  const holding: Holding = { store, config, renewals, inTurn: inTurns() }
  let forgetKeys: (() => void)[] = []

  function checkKeys(): void {
    for (const held of sessions.values()) if (held.emitting > 0) held.check()
  }

  function open(name: string, { identity }: Admission): HeldSession {
    const held = holdSession(identity, holding, () => close(name))
    if (sessions.size === 0) forgetKeys = config.issuers.map(({ jwks }) => jwks.subscribe(checkKeys))
    sessions.set(name, held)
    return held
  }

  function close(name: string): void {
    sessions.delete(name)
    if (sessions.size === 0) for (const forget of forgetKeys) forget()
  }

  return (admission, holder) => {
    const { sessionId, userId, version } = admission.identity
    // Two versions never share a verdict: one of them has been replaced.
    const name = JSON.stringify([sessionId, userId, version])
    const held = sessions.get(name) ?? open(name, admission)
    const lease = held.join(admission, holder)
    // A session was revoked or a key removed between the read that let the call in and this line.
    const isCurrent =
      admission.revision === store.revocations.revision && admission.keysVersion === keysVersion(config)
    if (!isCurrent) held.check()
    return lease
  }
}
