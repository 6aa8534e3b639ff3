import { SignJWT } from 'jose'
import type { AuthConfig } from '../config.ts'
import type { SigningKey } from '../keys/signing-keys.ts'
import { MAX_TOKEN_LENGTH } from './verify-jws.ts'
import { JWT_TYPE } from './verify-jwt.ts'

/** A JWT as it was issued, with the seconds until it expires. */
export interface IssuedJwt {
  readonly token: string
  readonly expiresAt: Date
  readonly expiresInSeconds: number
}

/**
 * Issues the JWT of a session. It never outlives the session, and carries nothing personal (design decision 4).
 *
 * @throws Error when the token is too large for a cookie
 */
export async function issueJwt(
  session: { id: string; userId: string; expiresAt: Date },
  options: { key: SigningKey; config: AuthConfig; now?: Date },
): Promise<IssuedJwt> {
  const { key, config, now = config.now() } = options
  const issuedAt = Math.floor(now.getTime() / 1000)
  const expires = Math.min(
    issuedAt + config.jwtLifetimeSeconds,
    Math.floor(session.expiresAt.getTime() / 1000),
  )
  const token = await new SignJWT({ sessionId: session.id, userId: session.userId })
    .setProtectedHeader({ alg: key.alg, typ: JWT_TYPE, kid: key.kid })
    .setIssuer(config.issuer)
    .setAudience(config.audience)
    .setSubject(session.userId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expires)
    .setJti(crypto.randomUUID())
    .sign(await key.cryptoKey())
  if (token.length > MAX_TOKEN_LENGTH)
    throw new Error(`A JWT may have at most ${MAX_TOKEN_LENGTH} characters`)
  return { token, expiresAt: new Date(expires * 1000), expiresInSeconds: Math.max(0, expires - issuedAt) }
}
