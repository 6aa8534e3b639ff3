import { type JWTPayload, SignJWT } from 'jose'
import type { AuthConfig } from '../config.ts'
import type { SigningKey } from '../keys/signing-keys.ts'
import { JWT_TYPE } from './trusted-issuer.ts'
import { MAX_TOKEN_LENGTH } from './verify-jws.ts'

export interface IssuedJwt {
  readonly token: string
  readonly expiresAt: Date
  readonly expiresInSeconds: number
}

/** A session for {@link issueJwt}. */
export interface JwtSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  /** The version in the row. @default 1 */
  readonly version?: number
  /** The hash of the session cookie of another library, to which the JWT is bound. */
  readonly cookieHash?: string
}

/** Returns further claims for the JWT of a session. */
export type DefinePayload = (session: { userId: string; sessionId: string }) => object | Promise<object>

/**
 * Issues the JWT of a session. It never outlives the session.
 * @param options.payload further claims; ours override them
 * @throws Error if the token is too large for a cookie
 */
export async function issueJwt(
  session: JwtSession,
  options: { key: SigningKey; config: AuthConfig; payload?: object; now?: Date },
): Promise<IssuedJwt> {
  const { key, config, payload = {}, now = config.now() } = options
  const issuedAt = Math.floor(now.getTime() / 1000)
  const sessionExpires = Math.floor(session.expiresAt.getTime() / 1000)
  const expires = Math.min(issuedAt + config.jwtLifetimeSeconds, sessionExpires)
  // Our claims override every other registered claim.
  const { nbf: _, ...added }: JWTPayload = { ...payload }
  const { id: sessionId, userId, version = 1, cookieHash } = session
  const token = await new SignJWT({ ...added, sessionId, userId, version, cookieHash })
    .setProtectedHeader({ alg: key.alg, typ: JWT_TYPE, kid: key.kid })
    .setIssuer(config.issuer)
    .setAudience(config.audience)
    .setSubject(userId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expires)
    .setJti(crypto.randomUUID())
    .sign(await key.cryptoKey())
  if (token.length > MAX_TOKEN_LENGTH)
    throw new Error(`A JWT may have at most ${MAX_TOKEN_LENGTH} characters. Add fewer claims in the payload.`)
  return { token, expiresAt: new Date(expires * 1000), expiresInSeconds: Math.max(0, expires - issuedAt) }
}
