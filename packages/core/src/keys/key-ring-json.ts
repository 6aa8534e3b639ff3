import { isJsonObject } from '../jwt/encoding.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { type KeyRing, type RingKey, toPublicJwk } from './key-ring.ts'
import { parsePrivateJwks, parseSet } from './policy.ts'

/** Parses private keys with optional `state` and `since`. In a plain JWK Set, the first key signs. */
export function parseKeyRing(json: unknown, setting: string): KeyRing {
  const { keys: raw, set } = parseSet(json, setting)
  const keys = parsePrivateJwks(set, setting).map((jwk, index): RingKey => {
    const { state = index === 0 ? 'active' : 'retiring', since = new Date().toISOString() } = raw[index] ?? {}
    if (state !== 'next' && state !== 'active' && state !== 'retiring')
      throw new ConfigurationError(`${setting}: keys[${index}].state must be next, active, or retiring`)
    const date = parseDate(since, `${setting}: keys[${index}].since`)
    return { jwk: { ...toPublicJwk(jwk), d: jwk.d }, state, since: date }
  })
  for (const state of ['next', 'active'] as const) {
    const count = keys.filter((key) => key.state === state).length
    if (count > 1 || (state === 'active' && count === 0))
      throw new ConfigurationError(`${setting} has ${count} keys that are ${state}. Keep exactly one.`)
  }
  return { keys, revoked: parseRevoked(set.revoked, setting) }
}

/** Returns the ring as JSON for {@link parseKeyRing}, with its private keys. */
export function formatKeyRing({ keys, revoked }: KeyRing): string {
  return JSON.stringify({
    keys: keys.map(({ jwk, state, since }) => ({ ...jwk, state, since: since.toISOString() })),
    ...(revoked.length > 0 && { revoked: revoked.map(({ kid, at }) => ({ kid, at: at.toISOString() })) }),
  })
}

function parseRevoked(value: unknown, setting: string): KeyRing['revoked'] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new ConfigurationError(`${setting}: revoked must be a list`)
  return value.map((entry: unknown, index) => {
    if (!isJsonObject(entry) || typeof entry.kid !== 'string')
      throw new ConfigurationError(`${setting}: revoked[${index}].kid must be the id of a key`)
    return { kid: entry.kid, at: parseDate(entry.at, `${setting}: revoked[${index}].at`) }
  })
}

function parseDate(value: unknown, member: string): Date {
  const date = new Date(typeof value === 'string' ? value : Number.NaN)
  if (Number.isNaN(date.getTime())) throw new ConfigurationError(`${member} must be an ISO 8601 date`)
  return date
}
