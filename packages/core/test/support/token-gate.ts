import {
  type AuthConfig,
  authenticate,
  defineAuthConfig,
  type KeySet,
  type Reason,
  type SessionReader,
  staticJwks,
  verifyJwt,
} from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import type { TestClock } from '@sallyport/core/testing'
import type { PrivateJwk } from '../../src/keys/policy.ts'
import { createTestClock } from '../../src/testing/instruments.ts'
import { sealToken, toSegment } from './forge-token.ts'
import { incoming } from './incoming.ts'
import { reasonOf } from './reason-of.ts'

/** A key set with a counter of lookups, and a version that can be raised. */
export interface CountingKeySet extends KeySet {
  version: number
  lookups: number
}

/** The result of a token, and the work that it caused. */
export interface Result {
  readonly reason: Reason | 'accepted'
  readonly keyLookups: number
  readonly sessionLookups: number
}

/** Step 1 with separate keys, and a store that has every session. */
export interface TokenGate {
  readonly config: AuthConfig
  readonly clock: TestClock
  readonly keySet: CountingKeySet
  readonly ed25519: PrivateJwk
  readonly es256: PrivateJwk
  /** The header of a valid token. */
  readonly header: { alg: string; typ: string; kid: string }
  /** Returns the claims of a valid token. */
  claims(): Record<string, unknown>
  /** Returns a correctly signed token. Its header and claims are valid unless others are given. */
  forge(parts?: { header?: unknown; payload?: unknown; key?: PrivateJwk }): string
  /** Sends a token to Step 1 alone, and then in a cookie to both steps. */
  send(token: string): Promise<Result>
}

export async function createTokenGate(): Promise<TokenGate> {
  const clock = createTestClock(new Date('2026-11-21T10:00:00.000Z'))
  const [ed25519, es256] = await Promise.all([createSigningKey('Ed25519'), createSigningKey('ES256')])
  const keys = staticJwks(parseSigningKeys({ keys: [ed25519, es256] }).publicJwks)
  const keySet: CountingKeySet = {
    ...keys,
    lookups: 0,
    findKey(kid) {
      keySet.lookups++
      return keys.findKey(kid)
    },
  }
  const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: keySet, now: clock.now })
  const header = { alg: ed25519.alg, typ: 'at+jwt', kid: ed25519.kid }

  function claims(): Record<string, unknown> {
    const iat = Math.floor(clock.now().getTime() / 1000)
    const { issuer: iss, audience: aud } = config
    return {
      iss,
      aud,
      sub: 'ada',
      iat,
      exp: iat + 900,
      jti: 'j1',
      sessionId: 's1',
      userId: 'ada',
      version: 1,
    }
  }

  return {
    config,
    clock,
    keySet,
    ed25519,
    es256,
    header,
    claims,
    forge: (parts = {}) =>
      sealToken(
        parts.key ?? ed25519,
        toSegment(parts.header ?? header),
        toSegment(parts.payload ?? claims()),
      ),
    async send(token) {
      keySet.lookups = 0
      const reason = await reasonOf(verifyJwt(token, config))
      const keyLookups = keySet.lookups
      const sessions = openToAll()
      await reasonOf(
        authenticate(incoming({ cookie: `service.jwt=${token}` }), 'query', { config, sessions }),
      )
      return { reason, keyLookups, sessionLookups: sessions.lookups }
    },
  }
}

function openToAll(): SessionReader & { lookups: number } {
  const sessions = {
    lookups: 0,
    async findSession() {
      sessions.lookups++
      return null
    },
  }
  return sessions
}
