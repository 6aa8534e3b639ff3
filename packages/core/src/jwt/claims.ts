import { AuthError } from '../errors.ts'
import type { Identity } from './identity.ts'
import { type JsonObject, parseJsonObject } from './json.ts'
import { isNumericDate } from './numeric-date.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'

/**
 * The identity that a verified payload stands for, if it was issued by this issuer for this service and counts now.
 *
 * @throws AuthError `TOKEN_INVALID` or `TOKEN_EXPIRED`
 */
export function parseClaims(
  payload: Uint8Array,
  { keyId, issuer, isOwn, now }: { keyId: string; issuer: TrustedIssuer; isOwn: boolean; now: Date },
): Identity {
  const claims = parsePayload(payload)
  const { exp, nbf } = claims
  const userId = claims[issuer.claims.userId]
  const sessionId = claims[issuer.claims.sessionId]
  if (!isIssuedBy(issuer, claims) || !isNumericDate(exp) || !isId(userId) || !isId(sessionId))
    throw new AuthError('TOKEN_INVALID')
  if (nbf !== undefined && !(isNumericDate(nbf) && nbf * 1000 <= now.getTime()))
    throw new AuthError('TOKEN_INVALID')
  if (isOwn && !isOwnShape(claims)) throw new AuthError('TOKEN_INVALID')
  const expiresAt = new Date(exp * 1000)
  if (expiresAt <= now) throw new AuthError('TOKEN_EXPIRED')
  return { userId, sessionId, expiresAt, issuer: issuer.issuer, keyId }
}

function parsePayload(payload: Uint8Array): JsonObject {
  try {
    return parseJsonObject(payload)
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}

/** Issued by this issuer, and for us, alone or among others (RFC 7519 sections 4.1.1 and 4.1.3). */
function isIssuedBy({ issuer, audience }: TrustedIssuer, { iss, aud }: JsonObject): boolean {
  const audiences = [aud].flat()
  return (
    typeof iss === 'string' &&
    iss === issuer &&
    audiences.every((entry) => typeof entry === 'string') &&
    audiences.includes(audience)
  )
}

/** What our own JWTs have besides (spec section 2): one audience, and one user under both names. */
function isOwnShape({ aud, sub, userId, iat, jti }: JsonObject): boolean {
  return typeof aud === 'string' && sub === userId && isNumericDate(iat) && isId(jti)
}

/** Of 1 to 128 characters, however many code units they take. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && [...value].length <= 128
}
