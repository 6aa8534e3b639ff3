import { ConfigurationError } from '../protocol/errors.ts'
import { JWT_LIFETIME_SECONDS } from '../protocol.ts'
import { MAX_KEYS, type OwnPublicJwk, type PrivateJwk } from './policy.ts'

/** `next` is published and doesn't sign yet; `active` signs; `retiring` only verifies until it's removed. */
export type KeyState = 'next' | 'active' | 'retiring'

export interface RingKey {
  readonly jwk: PrivateJwk
  readonly state: KeyState
  /** When the state began. */
  readonly since: Date
}

export interface KeyRing {
  readonly keys: readonly RingKey[]
  /** Keys that were removed because they leaked. */
  readonly revoked: readonly { readonly kid: string; readonly at: Date }[]
}

const PUBLISH = 'Publish one with `sallyport keys create` and the same file.'

interface RingOptions {
  readonly now: Date
  /** @default 900 */
  readonly jwtLifetimeSeconds?: number
}

/** How long a key is published before it may sign: twice as long as dynamic JWKS verifiers keep a set. */
export const PUBLISH_SECONDS: number = 10 * 60

/** A node may sign with a retiring key until it has read the ring again. */
const HANDOVER_SECONDS = 60

/** How long a ring lists a revoked key. Every node has read the ring by then. */
const RETENTION_REVOKED_MS = 30 * 24 * 60 * 60 * 1000

export function createKeyRing(jwk: PrivateJwk, now: Date): KeyRing {
  return { keys: [{ jwk, state: 'active', since: now }], revoked: [] }
}

export function activeKey(ring: KeyRing): RingKey {
  const active = ring.keys.find(({ state }) => state === 'active')
  if (active === undefined) throw new ConfigurationError(`The key ring has no active key. ${PUBLISH}`)
  return active
}

/** Publishes the next key. @throws ConfigurationError if the ring already has one, or is full */
export function addNextKey(ring: KeyRing, jwk: PrivateJwk, options: RingOptions): KeyRing {
  if (ring.keys.some(({ state }) => state === 'next'))
    throw new ConfigurationError(
      'The key ring has a next key already. Run `sallyport keys rotate` to use it.',
    )
  const present = withoutGone(ring, options)
  if (present.keys.length >= MAX_KEYS)
    throw new ConfigurationError(
      `The key ring has ${present.keys.length} keys, the maximum. Wait until a retiring key is gone.`,
    )
  return { ...present, keys: [...present.keys, { jwk, state: 'next', since: options.now }] }
}

/** Returns the seconds until a next key may sign; 0 or less if it may. */
export function secondsUntilPublished({ since }: RingKey, now: Date): number {
  return Math.ceil(PUBLISH_SECONDS - (now.getTime() - since.getTime()) / 1000)
}

/**
 * Activates the next key and retires the active one.
 * @param options.force rotate even if some verifiers may not have the next key yet
 * @throws ConfigurationError without a next key, or if it was published too recently
 */
export function rotateKeys(ring: KeyRing, options: RingOptions & { force: boolean }): KeyRing {
  const { now, force } = options
  const next = ring.keys.find(({ state }) => state === 'next')
  if (next === undefined) throw new ConfigurationError(`The key ring has no next key. ${PUBLISH}`)
  const waitSeconds = secondsUntilPublished(next, now)
  if (waitSeconds > 0 && !force)
    throw new ConfigurationError(
      `Some verifiers may not have the next key yet. Wait another ${waitSeconds} s, or pass \`--force\`.`,
    )
  const keys = ring.keys.map((key): RingKey => {
    if (key.state === 'next') return { ...key, state: 'active', since: now }
    return key.state === 'active' ? { ...key, state: 'retiring', since: now } : key
  })
  return withoutGone({ ...ring, keys }, options)
}

/** Retires a key that hasn't leaked: the active one like {@link rotateKeys}, a next one at once. */
export function retireKey(ring: KeyRing, kid: string, options: RingOptions & { force: boolean }): KeyRing {
  const key = findKey(ring, kid)
  if (key.state === 'active') return rotateKeys(ring, options)
  const keys = key.state === 'next' ? ring.keys.filter((other) => other !== key) : ring.keys
  return withoutGone({ ...ring, keys }, options)
}

/**
 * Removes a key that leaked, so nothing it signed is valid anymore. A next key replaces an active one.
 * @throws ConfigurationError if the key doesn't exist, or no other key can replace it
 */
export function revokeKey(ring: KeyRing, kid: string, now: Date): KeyRing {
  const revoked = findKey(ring, kid)
  const promoted = revoked.state === 'active' ? 'next' : null
  const keys = ring.keys
    .filter((key) => key !== revoked)
    .map((key): RingKey => (key.state === promoted ? { ...key, state: 'active', since: now } : key))
  if (!keys.some(({ state }) => state === 'active'))
    throw new ConfigurationError(`No key can replace this one. ${PUBLISH}`)
  return { keys, revoked: [...stillListed(ring, now), { kid, at: now }] }
}

function findKey(ring: KeyRing, kid: string): RingKey {
  const key = ring.keys.find(({ jwk }) => jwk.kid === kid)
  if (key === undefined) throw new ConfigurationError('Key not found. Run `sallyport keys list`.')
  return key
}

function stillListed({ revoked }: KeyRing, now: Date): KeyRing['revoked'] {
  return revoked.filter(({ at }) => now.getTime() - at.getTime() < RETENTION_REVOKED_MS)
}

/** Returns the ring without retired keys whose JWTs have all expired, and long-revoked ones. */
export function withoutGone(ring: KeyRing, options: RingOptions): KeyRing {
  const { now, jwtLifetimeSeconds = JWT_LIFETIME_SECONDS } = options
  const lastRetired = now.getTime() - (jwtLifetimeSeconds + HANDOVER_SECONDS) * 1000
  return {
    keys: ring.keys.filter(({ state, since }) => state !== 'retiring' || since.getTime() > lastRetired),
    revoked: stillListed(ring, now),
  }
}

/** The public keys of a ring, as `JWKS` and `GET /api/auth/jwks` have them. */
export interface PublicKeys {
  readonly keys: readonly OwnPublicJwk[]
  /** Ids of leaked keys. Verifiers that don't know this member ignore it (RFC 7517 section 5). */
  readonly revoked?: readonly string[]
}

export function publicKeys(ring: KeyRing): PublicKeys {
  const keys = ring.keys.map(({ jwk }) => toPublicJwk(jwk))
  return ring.revoked.length === 0 ? { keys } : { keys, revoked: ring.revoked.map(({ kid }) => kid) }
}

/** Copies the public members by name, so no private one can slip through. */
export function toPublicJwk(jwk: PrivateJwk): OwnPublicJwk {
  const { kid, x } = jwk
  return jwk.alg === 'ES256'
    ? { kty: 'EC', crv: 'P-256', alg: jwk.alg, use: 'sig', kid, x, y: jwk.y }
    : { kty: 'OKP', crv: 'Ed25519', alg: jwk.alg, use: 'sig', kid, x }
}
