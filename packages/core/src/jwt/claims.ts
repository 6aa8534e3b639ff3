import * as z from 'zod/mini'
import type { AuthConfig } from '../config.ts'
import { AuthError } from '../errors.ts'
import type { Identity } from './identity.ts'
import { parseJson } from './json.ts'

const id = z.string().check(z.minLength(1), z.maxLength(128))
// A Date ends at 8.64e15 milliseconds; what lies beyond is no moment.
const seconds = z.number().check(z.int(), z.nonnegative(), z.maximum(8.64e12))

/** The claims of our JWTs: RFC 7519 section 4.1, plus `sessionId` and `userId` (spec section 2). */
const claimsSchema = z.object({
  iss: z.string(),
  aud: z.string(),
  sub: id,
  iat: seconds,
  exp: seconds,
  nbf: z.optional(seconds),
  jti: id,
  sessionId: id,
  userId: id,
})

/**
 * The identity that a verified payload stands for, if they were issued by and for this service and count now.
 *
 * @throws AuthError `TOKEN_INVALID` or `TOKEN_EXPIRED`
 */
export function parseClaims(payload: Uint8Array, keyId: string, config: AuthConfig, now: Date): Identity {
  const claims = parseShape(payload)
  if (claims.iss !== config.issuer || claims.aud !== config.audience) throw new AuthError('TOKEN_INVALID')
  if (claims.sub !== claims.userId) throw new AuthError('TOKEN_INVALID')
  if (claims.nbf !== undefined && claims.nbf * 1000 > now.getTime()) throw new AuthError('TOKEN_INVALID')
  const expiresAt = new Date(claims.exp * 1000)
  if (expiresAt <= now) throw new AuthError('TOKEN_EXPIRED')
  return { userId: claims.userId, sessionId: claims.sessionId, expiresAt, keyId }
}

function parseShape(payload: Uint8Array): z.infer<typeof claimsSchema> {
  try {
    return claimsSchema.parse(parseJson(payload))
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}
