import { AuthError } from '../protocol/errors.ts'
import { type JsonObject, parseJsonObject } from './encoding.ts'
import type { Identity } from './identity.ts'
import { DEFAULT_MAX_AGE_SECONDS, type TrustedIssuer } from './trusted-issuer.ts'

/** How far the clock of another issuer may be ahead of this server's clock. */
const MAX_CLOCK_SKEW_SECONDS = 60

/** The last second that a `Date` can hold. */
const MAX_NUMERIC_DATE = 8.64e12

/**
 * Returns the identity in a verified payload.
 * @param options.clock the present, if `now` isn't
 * @throws AuthError `TOKEN_INVALID` or `TOKEN_EXPIRED`
 */
export function parseClaims(
  payload: Uint8Array,
  options: { keyId: string; issuer: TrustedIssuer; isOwn: boolean; now: Date; clock?: Date },
): Identity {
  const { keyId, issuer, isOwn, now, clock = now } = options
  const claims = parsePayload(payload)
  const { exp, nbf, iat, version, cookieHash } = claims
  const userId = claims[issuer.claims.userId]
  const sessionId = claims[issuer.claims.sessionId]
  if (!isIssuedBy(issuer, claims) || !isNumericDate(exp) || !isId(userId) || !isId(sessionId))
    throw new AuthError('TOKEN_INVALID')
  const isActive = nbf === undefined || (isNumericDate(nbf) && nbf * 1000 <= now.getTime())
  if (!isActive || !isNumericDate(iat)) throw new AuthError('TOKEN_INVALID')
  if (isOwn && !(isOwnShape(claims) && isVersion(version))) throw new AuthError('TOKEN_INVALID')
  // A foreign token from the future would outlive its maximum age.
  if (!isOwn && iat > clock.getTime() / 1000 + MAX_CLOCK_SKEW_SECONDS) throw new AuthError('TOKEN_INVALID')
  const { maxAgeSeconds = DEFAULT_MAX_AGE_SECONDS } = issuer
  const expiresAt = new Date((isOwn ? exp : Math.min(exp, iat + maxAgeSeconds)) * 1000)
  if (expiresAt <= now) throw new AuthError('TOKEN_EXPIRED')
  const identity = { userId, sessionId, version: null, expiresAt, issuer: issuer.issuer, keyId }
  if (!isOwn || !isVersion(version)) return identity
  return { ...identity, version, ...(cookieHash !== undefined && { cookieHash: String(cookieHash) }) }
}

export function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

/** Returns whether a claim is a NumericDate in whole seconds (RFC 7519 section 2). */
export function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_NUMERIC_DATE
}

/** @throws AuthError `TOKEN_INVALID` if a payload isn't a JSON object */
export function parsePayload(payload: Uint8Array): JsonObject {
  try {
    return parseJsonObject(payload)
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}

/** Checks that `iss` is the issuer and `aud` names us (RFC 7519 sections 4.1.1 and 4.1.3). */
function isIssuedBy({ issuer, audience }: TrustedIssuer, { iss, aud }: JsonObject): boolean {
  const audiences = [aud].flat()
  return (
    typeof iss === 'string' &&
    iss === issuer &&
    audiences.every((entry) => typeof entry === 'string') &&
    audiences.includes(audience)
  )
}

/** Checks the claims that only our own JWTs have (spec section 2). */
function isOwnShape({ aud, sub, userId, jti }: JsonObject): boolean {
  return typeof aud === 'string' && sub === userId && isId(jti)
}

/** 1 to 128 characters, counted as code points. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && [...value].length <= 128
}
