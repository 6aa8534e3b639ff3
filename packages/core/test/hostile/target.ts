import {
  type AuthConfig,
  type AuthConfigOptions,
  defineAuthConfig,
  type KeySet,
  staticJwks,
} from '@sallyport/core'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { createLiveKeys } from '../../src/keys/live-keys.ts'
import { createTestClock } from '../../src/testing/instruments.ts'
import type { Named } from '../support/insert-rows.ts'
import { createSessions } from './create-sessions.ts'
import { createHostileKey, type HostileKey } from './hostile-key.ts'
import { createRandom } from './random.ts'

/** The claims of a valid token. */
export interface OwnClaims extends Named {
  readonly iss: string
  readonly aud: string
  readonly sub: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly version: number
}

/** A valid token and its parts. */
export interface GenuineToken {
  readonly token: string
  readonly segments: readonly [header: string, payload: string, signature: string]
  readonly key: HostileKey
  readonly session: Named
}

/** The server under attack, and all that its attackers could obtain. The same for the same seed. */
export interface Target {
  readonly auth: TestAuth
  readonly now: Date
  readonly issuer: string
  /** The keys that verify. */
  readonly ownKeys: readonly [ed25519: HostileKey, es256: HostileKey]
  /** Keys that verified earlier, until they retired or leaked. */
  readonly retiredKeys: readonly HostileKey[]
  /** Keys that the server has never seen. */
  readonly strangers: readonly [ed25519: HostileKey, es256: HostileKey]
  /** The key of the other issuer that the wide gate trusts. */
  readonly trustedKey: HostileKey
  readonly live: readonly Named[]
  /** Sessions that were revoked, and one that has expired. */
  readonly ended: readonly Named[]
  /** Valid tokens for the generators to alter. */
  readonly tokens: readonly GenuineToken[]
  /** Returns the header of a valid token. */
  header(key: HostileKey): { alg: string; typ: string; kid: string }
  /** Returns the claims of a valid token. */
  claims(session: Named): OwnClaims
  /** Opens a gate with a separate cache and counter. */
  openGate(options?: Pick<AuthConfigOptions, 'trustedIssuers'>): Gate
  /** Opens a gate like {@link Target.openGate} that also accepts tokens of another issuer. */
  openWideGate(): Gate
}

/** Step 1 with a count of its key lookups. */
export interface Gate {
  readonly config: AuthConfig
  keyLookups: number
}

const BASE_URL = 'http://localhost:3000'
const TRUSTED_ISSUER = 'https://id.example.com'
const TOKENS = 512
/** Padding of the longest valid tokens, in characters. They stay below the limit of 3,800. */
const MAX_FILLER = 2_380

export async function createTarget(seed: string, { databaseUrl = ':memory:' } = {}): Promise<Target> {
  const random = createRandom(`${seed} target`)
  const now = new Date('2026-11-21T10:00:00.000Z')
  const auth = await createTestAuth({ clock: createTestClock(now), databaseUrl })
  const ownKeys = [createHostileKey('Ed25519', random), createHostileKey('ES256', random)] as const
  const retiredKeys = [createHostileKey('Ed25519', random), createHostileKey('ES256', random)]
  const strangers = [createHostileKey('Ed25519', random), createHostileKey('ES256', random)] as const
  const trustedKey = createHostileKey('ES256', random)
  const { live, ended } = await createSessions(auth, random)
  const jwks = await rotatedKeys(ownKeys, retiredKeys)

  const header = ({ alg, kid }: HostileKey) => ({ alg, typ: 'at+jwt', kid })
  const claims = ({ userId, sessionId }: Named) => {
    const iat = Math.floor(now.getTime() / 1000) - random.below(600)
    const jti = random.bytes(16).toString('hex')
    return {
      iss: BASE_URL,
      aud: BASE_URL,
      sub: userId,
      iat,
      exp: iat + 900,
      jti,
      sessionId,
      userId,
      version: 1,
    }
  }

  function genuine(): GenuineToken {
    const key = random.pick(ownKeys)
    const session = random.pick(live)
    const filler = random.chance(0.5) ? {} : { filler: 'x'.repeat(random.below(MAX_FILLER)) }
    const token = key.seal(header(key), { ...claims(session), ...filler })
    const [first = '', second = '', third = ''] = token.split('.')
    return { token, segments: [first, second, third], key, session }
  }

  function openGate({ trustedIssuers = [] }: Pick<AuthConfigOptions, 'trustedIssuers'> = {}): Gate {
    const counted = (keys: KeySet): KeySet => ({
      version: keys.version,
      algorithms: keys.algorithms,
      ready: keys.ready,
      status: keys.status,
      keys: keys.keys,
      subscribe: keys.subscribe,
      findKey(kid) {
        gate.keyLookups++
        return keys.findKey(kid)
      },
    })
    const config = defineAuthConfig({
      baseUrl: BASE_URL,
      jwks: counted(jwks),
      bearer: true,
      now: auth.clock.now,
      trustedIssuers: trustedIssuers.map((issuer) => ({ ...issuer, jwks: counted(issuer.jwks) })),
    })
    const gate: Gate = { config, keyLookups: 0 }
    return gate
  }

  return {
    auth,
    now,
    issuer: BASE_URL,
    ownKeys,
    retiredKeys,
    strangers,
    trustedKey,
    live,
    ended,
    tokens: Array.from({ length: TOKENS }, genuine),
    header,
    claims,
    openGate,
    openWideGate: () =>
      openGate({
        trustedIssuers: [
          {
            issuer: TRUSTED_ISSUER,
            audience: 'sallyport',
            typ: 'JWT',
            jwks: staticJwks({ keys: [trustedKey.publicJwk] }),
            claims: { userId: 'sub', sessionId: 'sid' },
          },
        ],
      }),
  }
}

/** Returns the keys after two rotations: of the earlier keys, one has retired and one has leaked. */
async function rotatedKeys(own: readonly HostileKey[], retired: readonly HostileKey[]): Promise<KeySet> {
  const keys = createLiveKeys()
  await keys.replace(
    [...own, ...retired].map(({ publicJwk }) => publicJwk),
    [],
  )
  await keys.replace(
    own.map(({ publicJwk }) => publicJwk),
    retired.slice(1).map(({ kid }) => kid),
  )
  return keys
}
