import { base64url } from 'jose'
import type { AuthConfig } from '../config.ts'
import { AuthError } from '../protocol/errors.ts'
import { parseClaims, parsePayload } from './claims.ts'
import type { Identity } from './identity.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'
import { splitJws, verifyJws } from './verify-jws.ts'
import { verifyOnce } from './verify-once.ts'

/**
 * Step 1: returns the identity in a JWT (`docs/concepts.md`) without a database. For a token that was
 * verified before, the cache skips the signature, never `exp`.
 * @throws AuthError `TOKEN_INVALID`, `TOKEN_EXPIRED`, or `KEYS_UNAVAILABLE`
 */
export function verifyJwt(token: string, config: AuthConfig, now: Date = config.now()): Promise<Identity> {
  return verifyOnce(token, { config, now }, verifySignature)
}

async function verifySignature(token: string, config: AuthConfig, now: Date): Promise<Identity> {
  const issuer = selectIssuer(token, config)
  const isOwn = issuer === config.issuers[0]
  const { payload, keyId } = await verifyJws(token, issuer.jwks, { typ: issuer.typ, isOwn })
  return parseClaims(payload, { keyId, issuer, isOwn, now, clock: config.now() })
}

/** The token names its issuer, and the keys of that issuer then prove it. */
function selectIssuer(token: string, { issuers }: AuthConfig): TrustedIssuer {
  if (issuers.length === 1) return issuers[0]
  const [, payload] = splitJws(token)
  const { iss } = parsePayload(base64url.decode(payload))
  const issuer = issuers.find((candidate) => candidate.issuer === iss)
  if (issuer === undefined) throw new AuthError('TOKEN_INVALID')
  return issuer
}
