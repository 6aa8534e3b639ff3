import { ConfigurationError } from '../protocol/errors.ts'
import { JWT_LIFETIME_SECONDS } from '../protocol.ts'
import { MAX_KEYS, type OwnPublicJwk, type PrivateJwk } from './policy.ts'

/**
 * The life of a key. `next` is published and does not sign yet; `active` signs; `retiring` verifies until the last JWT that it
 * signed has expired. After that it is gone.
 */
export type KeyState = 'next' | 'active' | 'retiring'

/** A key with its state and the moment that state began. */
export interface RingKey {
  readonly jwk: PrivateJwk
  readonly state: KeyState
  readonly since: Date
}

/** A key that was removed because it leaked. */
export interface RevokedKey {
  readonly kid: string
  readonly at: Date
}

/** All keys of a server. */
export interface KeyRing {
  readonly keys: readonly RingKey[]
  readonly revoked: readonly RevokedKey[]
}

/**
 * How long a key is published before it may sign, in seconds. Verifiers with a dynamic JWKS keep a set for five minutes, so after
 * twice that all of them have it.
 */
export const PUBLISH_SECONDS: number = 10 * 60

/** A node may sign with a key for this long after it began to retire, in seconds: until it has read the ring again. */
const HANDOVER_SECONDS = 60

/** How long a revoked key is remembered, in seconds: no connection outlives a session of 30 days. */
const REVOKED_SECONDS = 30 * 24 * 60 * 60

/** A ring with one key, which signs. */
export function createKeyRing(jwk: PrivateJwk, now: Date): KeyRing {
  return { keys: [{ jwk, state: 'active', since: now }], revoked: [] }
}

/** The key that signs. */
export function activeKey(ring: KeyRing): RingKey {
  const active = ring.keys.find(({ state }) => state === 'active')
  if (active === undefined) throw new ConfigurationError('The key ring has no active key')
  return active
}

/**
 * Publishes a key that is to sign next.
 *
 * @throws ConfigurationError when there is one already, or when so many keys retire that the set would be refused
 */
export function addNextKey(
  ring: KeyRing,
  jwk: PrivateJwk,
  options: { now: Date; jwtLifetimeSeconds?: number },
): KeyRing {
  if (ring.keys.some(({ state }) => state === 'next')) {
    throw new ConfigurationError(
      'The key ring has a next key already: put it to use with "sallyport keys rotate"',
    )
  }
  const present = withoutGone(ring, options)
  if (present.keys.length >= MAX_KEYS) {
    throw new ConfigurationError(
      `The key ring has ${present.keys.length} keys, and no key set may have more: wait until one that retires is gone`,
    )
  }
  return { ...present, keys: [...present.keys, { jwk, state: 'next', since: options.now }] }
}

/**
 * Lets the next key sign and the active one retire.
 *
 * @param options.force rotate although some verifiers may not know the next key yet
 * @throws ConfigurationError when there is no next key, or when it has not been published for {@link PUBLISH_SECONDS}
 */
export function rotateKeys(
  ring: KeyRing,
  options: { now: Date; force: boolean; jwtLifetimeSeconds?: number },
): KeyRing {
  const { now, force } = options
  const next = ring.keys.find(({ state }) => state === 'next')
  if (next === undefined) {
    throw new ConfigurationError('The key ring has no next key: publish one with "sallyport keys create"')
  }
  const waitSeconds = Math.ceil(PUBLISH_SECONDS - (now.getTime() - next.since.getTime()) / 1000)
  if (waitSeconds > 0 && !force) {
    throw new ConfigurationError(
      `The next key has to be published for another ${waitSeconds} s before it may sign, so that every verifier knows it`,
    )
  }
  const keys = ring.keys.map((key): RingKey => {
    if (key.state === 'next') return { ...key, state: 'active', since: now }
    return key.state === 'active' ? { ...key, state: 'retiring', since: now } : key
  })
  return withoutGone({ ...ring, keys }, options)
}

/**
 * Takes a key out of service in good order: the active key like {@link rotateKeys}, a next one before it has signed anything.
 *
 * @throws ConfigurationError when there is no such key, or like {@link rotateKeys}
 */
export function retireKey(
  ring: KeyRing,
  kid: string,
  options: { now: Date; force: boolean; jwtLifetimeSeconds?: number },
): KeyRing {
  const key = ring.keys.find(({ jwk }) => jwk.kid === kid)
  if (key === undefined) throw new ConfigurationError('The key ring has no key of this id')
  if (key.state === 'active') return rotateKeys(ring, options)
  const keys = key.state === 'next' ? ring.keys.filter((other) => other !== key) : ring.keys
  return withoutGone({ ...ring, keys }, options)
}

/**
 * Removes a key that leaked: nothing that rests on it counts any more. The active key can go only when there is a next one to take
 * its place, which then signs at once.
 *
 * @throws ConfigurationError when there is no such key, or nothing to take its place
 */
export function revokeKey(ring: KeyRing, kid: string, now: Date): KeyRing {
  const revoked = ring.keys.find(({ jwk }) => jwk.kid === kid)
  if (revoked === undefined) throw new ConfigurationError('The key ring has no key of this id')
  const promoted = revoked.state === 'active' ? 'next' : null
  const keys = ring.keys
    .filter((key) => key !== revoked)
    .map((key): RingKey => (key.state === promoted ? { ...key, state: 'active', since: now } : key))
  if (!keys.some(({ state }) => state === 'active')) {
    throw new ConfigurationError(
      'Nothing could sign in its place: publish another key first with "sallyport keys create"',
    )
  }
  const remembered = ring.revoked.filter(({ at }) => now.getTime() - at.getTime() < REVOKED_SECONDS * 1000)
  return { keys, revoked: [...remembered, { kid, at: now }] }
}

/** The ring without the keys that nothing unexpired rests on. */
export function withoutGone(ring: KeyRing, options: { now: Date; jwtLifetimeSeconds?: number }): KeyRing {
  const { now, jwtLifetimeSeconds = JWT_LIFETIME_SECONDS } = options
  const lastRetired = now.getTime() - (jwtLifetimeSeconds + HANDOVER_SECONDS) * 1000
  return {
    ...ring,
    keys: ring.keys.filter(({ state, since }) => state !== 'retiring' || since.getTime() > lastRetired),
  }
}

/** The public halves of a ring, as `JWKS` and `GET /api/auth/jwks` hold them. */
export interface PublicKeys {
  readonly keys: readonly OwnPublicJwk[]
  /** Ids of keys that leaked. Verifiers that do not know this member ignore it (RFC 7517 section 5). */
  readonly revoked?: readonly string[]
}

/** The public halves of all keys that may verify. */
export function publicKeys(ring: KeyRing): PublicKeys {
  const keys = ring.keys.map(({ jwk }) => toPublicJwk(jwk))
  return ring.revoked.length === 0 ? { keys } : { keys, revoked: ring.revoked.map(({ kid }) => kid) }
}

/** The members that the policy names and no other, so that no private one can slip through. */
export function toPublicJwk(jwk: PrivateJwk): OwnPublicJwk {
  const { kid, x } = jwk
  return jwk.alg === 'ES256'
    ? { kty: 'EC', crv: 'P-256', alg: jwk.alg, use: 'sig', kid, x, y: jwk.y }
    : { kty: 'OKP', crv: 'Ed25519', alg: jwk.alg, use: 'sig', kid, x }
}
