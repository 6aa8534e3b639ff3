import { createHmac } from 'node:crypto'
import { parseSigningKeys, type SigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createLiveKeys, type LiveKeys } from '../../../core/src/keys/live-keys.ts'
import { createHostileKey, type HostileKey } from '../../../core/test/hostile/hostile-key.ts'
import type { Random } from '../../../core/test/hostile/random.ts'
import { toSegment } from '../../../core/test/support/forge-token.ts'
import type { Named } from '../../../core/test/support/insert-rows.ts'
import type { JwtFacts } from './state.ts'

/** The server's keys, its former ones, and those it never had. */
export interface Keys {
  /** The keys that Step 1 trusts. */
  readonly live: LiveKeys
  /** The key that the server signs with. */
  readonly signing: SigningKeys
  readonly own: HostileKey
  readonly ownElliptic: HostileKey
  readonly retired: HostileKey
  readonly leaked: HostileKey
  readonly stranger: HostileKey
  readonly service: HostileKey
  /** Adds a new key to the set. */
  add(key: HostileKey): Promise<void>
  /** Removes a key from the set. */
  remove(key: HostileKey, options: { leaked: boolean }): Promise<void>
}

export async function createKeys(random: Random): Promise<Keys> {
  const live = createLiveKeys()
  const signing = parseSigningKeys({ keys: [await createSigningKey()] })
  const [own, retired, leaked, stranger, service] = [1, 2, 3, 4, 5].map(() =>
    createHostileKey('Ed25519', random),
  ) as [HostileKey, HostileKey, HostileKey, HostileKey, HostileKey]
  const ownElliptic = createHostileKey('ES256', random)
  const replace = (keys: readonly HostileKey[], revoked: readonly HostileKey[]) =>
    live.replace(
      [...signing.publicJwks.keys, ...keys.map(({ publicJwk }) => publicJwk)],
      revoked.map(({ kid }) => kid),
    )
  await replace([own, ownElliptic, retired, leaked], [])
  await replace([own, ownElliptic], [leaked])
  return {
    live,
    signing,
    own,
    ownElliptic,
    retired,
    leaked,
    stranger,
    service,
    add: (key) => replace([own, ownElliptic, key], [leaked]),
    remove: (key, { leaked: hasLeaked }) => replace([own, ownElliptic], hasLeaked ? [leaked, key] : [leaked]),
  }
}

/** Signs a token with the given facts, without the library. */
export function mint(
  { iat, exp, flaw }: JwtFacts,
  { userId, sessionId }: Named,
  { keys, origin, key = keys.own, random }: { keys: Keys; origin: string; key?: HostileKey; random: Random },
): string {
  const header = { alg: key.alg, typ: 'at+jwt', kid: key.kid }
  const jti = random.bytes(16).toString('hex')
  const ids = { sub: userId, sessionId, userId, version: 1 }
  const claims = { ...ids, iss: origin, aud: origin, iat, exp, jti }
  const sealed = key.seal(header, claims)
  const [first = '', second = '', third = ''] = sealed.split('.')

  switch (flaw) {
    case null:
    case 'key retires':
    case 'key leaks':
      return sealed
    case 'changed after signing':
      return `${first}.${toSegment({ ...claims, exp: exp + 60 })}.${third}`
    case 'signed by a stranger under our key id':
      return keys.stranger.seal(header, claims)
    case 'signed by a stranger under theirs':
      return keys.stranger.seal({ ...header, kid: keys.stranger.kid }, claims)
    case 'signed by nobody':
      return `${toSegment({ ...header, alg: 'none' })}.${second}.`
    case 'signed with our public key as a secret': {
      const input = `${toSegment({ ...header, alg: 'HS256' })}.${second}`
      const secret = JSON.stringify(key.publicJwk)
      return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
    }
    case 'signed by a key of another algorithm':
      return keys.ownElliptic.seal({ ...header, alg: 'ES256' }, claims)
    case 'signed by a service':
      return keys.service.seal({ ...header, kid: keys.service.kid }, claims)
    case 'signed by a key that has retired':
      return keys.retired.seal({ ...header, kid: keys.retired.kid }, claims)
    case 'signed by a key that has leaked':
      return keys.leaked.seal({ ...header, kid: keys.leaked.kid }, claims)
    case 'type of a service':
      return key.seal({ ...header, typ: 'svc+jwt' }, claims)
    case 'no type':
      return key.seal({ alg: key.alg, kid: key.kid }, claims)
    case 'for another audience':
      return key.seal(header, { ...claims, aud: `${origin}/internal` })
    case 'for two audiences':
      return key.seal(header, { ...claims, aud: [origin, 'https://other.example'] })
    case 'by another issuer':
      return key.seal(header, { ...claims, iss: 'https://other.example' })
    case 'not yet':
      return key.seal(header, { ...claims, nbf: exp + 86_400 })
    case 'no session':
      return key.seal(header, { ...claims, sessionId: undefined })
    case 'another subject':
      return key.seal(header, { ...claims, sub: 'someone-else' })
    case 'no key id':
      return key.seal({ alg: key.alg, typ: 'at+jwt' }, claims)
    case 'brings its own key':
      return keys.stranger.seal({ ...header, jwk: keys.stranger.publicJwk }, claims)
    case 'a dot more':
      return `${sealed}.`
    case 'padded':
      return `${sealed}==`
    case 'too long':
      return key.seal(header, { ...claims, filler: 'x'.repeat(3_000) })
  }
}
