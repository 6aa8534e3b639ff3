import { base64url } from 'jose'
import type { AuthConfig } from '../config.ts'
import { AuthError } from '../protocol/errors.ts'
import { parseClaims } from './claims.ts'
import type { Identity } from './identity.ts'
import { parseJsonObject } from './json.ts'
import { keysVersion, type TrustedIssuer } from './trusted-issuer.ts'
import { splitJws, verifyJws } from './verify-jws.ts'

/**
 * Step 1: the identity behind a JWT (spec section 5). Cryptographic only; asks no database.
 *
 * A token that was verified before costs one map look-up. The map skips the signature, never `exp`.
 *
 * @throws AuthError `TOKEN_INVALID`, `TOKEN_EXPIRED` or `KEYS_UNAVAILABLE`
 */
export async function verifyJwt(
  token: string,
  config: AuthConfig,
  now: Date = config.now(),
): Promise<Identity> {
  const version = keysVersion(config)
  const known = config.identityCache.get(token, version)
  if (known !== undefined) {
    if (known.expiresAt.getTime() <= now.getTime()) throw new AuthError('TOKEN_EXPIRED')
    return known
  }
  const issuer = selectIssuer(token, config)
  const { payload, keyId } = await verifyJws(token, issuer.jwks, { typ: issuer.typ })
  const isOwn = issuer === config.issuers[0]
  const identity = parseClaims(payload, { keyId, issuer, isOwn, now, clock: config.now() })
  config.identityCache.set(token, version, identity)
  return identity
}

/** Whose rules a token is checked by: it says so itself, and the keys of that issuer then prove it right or wrong. */
function selectIssuer(token: string, { issuers }: AuthConfig): TrustedIssuer {
  const [own] = issuers
  if (issuers.length === 1) return own
  const claimed = readIssuer(token)
  const issuer = issuers.find((candidate) => candidate.issuer === claimed)
  if (issuer === undefined) throw new AuthError('TOKEN_INVALID')
  return issuer
}

function readIssuer(token: string): unknown {
  const [, payload] = splitJws(token)
  try {
    return parseJsonObject(base64url.decode(payload)).iss
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}
