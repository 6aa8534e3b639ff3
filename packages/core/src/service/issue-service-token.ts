import { SignJWT } from 'jose'
import type { Identity } from '../jwt/identity.ts'
import { MAX_TOKEN_LENGTH } from '../jwt/verify-jws.ts'
import type { SigningKey } from '../keys/signing-keys.ts'
import {
  requireClaimText,
  SERVICE_JWT_TYPE,
  SERVICE_TOKEN_SECONDS,
  type ServiceCall,
} from './service-token.ts'

export interface ServiceTokenOptions {
  readonly key: SigningKey
  /** The name of the calling service. */
  readonly service: string
  readonly audience: string
  readonly bodyDigest: string
  readonly now: Date
}

/**
 * Issues the service JWT of one attempt of a call. The receiver accepts each token once.
 *
 * @throws ConfigurationError if the path, the service, or the key is empty, too long, or has control characters
 */
export async function issueServiceToken(
  { path, type, actor, idempotencyKey }: ServiceCall,
  { key, service, audience, bodyDigest, now }: ServiceTokenOptions,
): Promise<string> {
  requireClaimText('path', path)
  requireClaimText('service', service)
  if (idempotencyKey !== null) requireClaimText('idempotencyKey', idempotencyKey)
  const issuedAt = Math.floor(now.getTime() / 1000)
  const claims = {
    fn: path,
    op: type,
    body: bodyDigest,
    ...(actor !== null && { act: toActor(actor) }),
    ...(idempotencyKey !== null && { idempotencyKey }),
  }
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: key.alg, typ: SERVICE_JWT_TYPE, kid: key.kid })
    .setIssuer(service)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + SERVICE_TOKEN_SECONDS)
    .setJti(crypto.randomUUID())
    .sign(await key.cryptoKey())
  if (token.length > MAX_TOKEN_LENGTH)
    throw new Error(`A service JWT may have at most ${MAX_TOKEN_LENGTH} characters`)
  return token
}

/** Describes the acting party (RFC 8693 section 4.1) with all that Step 2 reads of an identity. */
function toActor({ userId, sessionId, version, issuer, keyId, expiresAt }: Identity) {
  const exp = Math.floor(expiresAt.getTime() / 1000)
  return { sub: userId, sessionId, version, iss: issuer, kid: keyId, exp }
}
