import * as z from 'zod/mini'
import { AuthError } from '../errors.ts'
import type { Identity } from './identity.ts'
import { parseJson } from './json.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'

const id = z.string().check(z.minLength(1), z.maxLength(128))
// A Date ends at 8.64e15 milliseconds; what lies beyond is no moment.
const seconds = z.number().check(z.int(), z.nonnegative(), z.maximum(8.64e12))

/** The registered claims that are checked in the tokens of every issuer (RFC 7519 section 4.1). */
const registeredClaims = z.looseObject({
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  exp: seconds,
  nbf: z.optional(seconds),
})

/** What our own JWTs have besides (spec section 2). */
const ownClaims = z.object({ aud: z.string(), sub: id, iat: seconds, jti: id, userId: id })

/**
 * The identity that a verified payload stands for, if it was issued by this issuer for this service and counts now.
 *
 * @throws AuthError `TOKEN_INVALID` or `TOKEN_EXPIRED`
 */
export function parseClaims(
  payload: Uint8Array,
  { keyId, issuer, isOwn, now }: { keyId: string; issuer: TrustedIssuer; isOwn: boolean; now: Date },
): Identity {
  const claims = parseShape(payload, isOwn)
  const audiences = [claims.aud].flat()
  if (claims.iss !== issuer.issuer || !audiences.includes(issuer.audience))
    throw new AuthError('TOKEN_INVALID')
  if (claims.nbf !== undefined && claims.nbf * 1000 > now.getTime()) throw new AuthError('TOKEN_INVALID')
  const userId = id.safeParse(claims[issuer.claims.userId])
  const sessionId = id.safeParse(claims[issuer.claims.sessionId])
  if (!userId.success || !sessionId.success) throw new AuthError('TOKEN_INVALID')
  const expiresAt = new Date(claims.exp * 1000)
  if (expiresAt <= now) throw new AuthError('TOKEN_EXPIRED')
  return { userId: userId.data, sessionId: sessionId.data, expiresAt, issuer: issuer.issuer, keyId }
}

function parseShape(payload: Uint8Array, isOwn: boolean): z.infer<typeof registeredClaims> {
  try {
    const claims = registeredClaims.parse(parseJson(payload))
    if (isOwn) {
      const own = ownClaims.parse(claims)
      if (own.sub !== own.userId) throw new TypeError('sub and userId name two users')
    }
    return claims
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}
