import { type AuthConfig, defineAuthConfig, type Identity, type KeySet, staticJwks } from '@sallyport/core'
import { parseSigningKeys, type SigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import {
  digestBody,
  issueServiceToken,
  type ServiceCall,
  type ServiceTokenOptions,
  serviceAudience,
} from '@sallyport/core/internal/server'
import type { PrivateJwk } from '../../src/keys/policy.ts'

/** A service, and the app that it calls. */
export interface ServiceScene {
  readonly config: AuthConfig
  readonly now: Date
  /** The keys of the app, which sign users' JWTs. */
  readonly ofUsers: PrivateJwk
  /** The keys of the service, with either algorithm. */
  readonly ed25519: PrivateJwk
  readonly es256: PrivateJwk
  readonly serviceJwks: KeySet
  readonly call: ServiceCall
  /** The digest of the body of the call. */
  readonly bodyDigest: string
  readonly actor: Identity
  /** Issues the service JWT of the call. */
  issue(call?: Partial<ServiceCall>, options?: Partial<ServiceTokenOptions>): Promise<string>
  /** Returns the claims of that token, for tests to change. */
  claims(): Record<string, unknown>
}

export async function createServiceScene(): Promise<ServiceScene> {
  const [ofUsers, ed25519, es256] = await Promise.all([
    createSigningKey(),
    createSigningKey('Ed25519'),
    createSigningKey('ES256'),
  ])
  const now = new Date('2026-11-21T10:00:00.000Z')
  const config = defineAuthConfig({
    baseUrl: 'https://app.example.com',
    jwks: staticJwks(keysOf(ofUsers).publicJwks),
    now: () => now,
  })
  const bodyDigest = await digestBody(new TextEncoder().encode('{}'))
  const actor: Identity = {
    userId: 'ada',
    sessionId: 's1',
    version: 1,
    issuer: config.issuer,
    keyId: ofUsers.kid,
    expiresAt: new Date(now.getTime() + 900_000),
  }
  const call: ServiceCall = { path: 'report.save', type: 'mutation', actor, idempotencyKey: 'k1' }
  const issuedAt = now.getTime() / 1000

  return {
    config,
    now,
    ofUsers,
    ed25519,
    es256,
    serviceJwks: staticJwks(keysOf(ed25519, es256).publicJwks),
    call,
    bodyDigest,
    actor,
    issue: (changes, options) =>
      issueServiceToken(
        { ...call, ...changes },
        {
          key: keysOf(ed25519).active,
          service: 'edge',
          audience: serviceAudience(config),
          bodyDigest,
          now,
          ...options,
        },
      ),
    claims: () => ({
      iss: 'edge',
      aud: 'https://app.example.com/internal',
      iat: issuedAt,
      exp: issuedAt + 30,
      jti: 'j1',
      fn: 'report.save',
      op: 'mutation',
      body: bodyDigest,
      act: {
        sub: 'ada',
        sessionId: 's1',
        version: actor.version,
        iss: config.issuer,
        kid: ofUsers.kid,
        exp: issuedAt + 900,
      },
      idempotencyKey: 'k1',
    }),
  }
}

function keysOf(...keys: PrivateJwk[]): SigningKeys {
  return parseSigningKeys({ keys })
}
