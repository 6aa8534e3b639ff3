import { base64url, SignJWT } from 'jose'
import type { Identity } from '../jwt/identity.ts'
import { MAX_TOKEN_LENGTH } from '../jwt/verify-jws.ts'
import type { SigningKey } from '../keys/signing-keys.ts'
import { ConfigurationError } from '../protocol/errors.ts'

/** The `typ` of a service JWT. It keeps the JWTs of users and services apart (RFC 8725 section 3.11). */
export const SERVICE_JWT_TYPE = 'svc+jwt'

/** The lifetime of a service JWT, and the largest difference between the clocks of two processes. */
export const SERVICE_TOKEN_SECONDS = 30

/** The call of an internal function that a service JWT is bound to. */
export interface ServiceCall {
  /** Such as `report.save`. */
  readonly path: string
  readonly type: 'query' | 'mutation'
  /** The acting user, or null without one. */
  readonly actor: Identity | null
  /** Null if the call must not be sent again. Only mutations have one. */
  readonly idempotencyKey: string | null
}

/** The claims of a verified service JWT. */
export interface ServiceClaims extends ServiceCall {
  /** The claim `jti`. */
  readonly id: string
  /** The calling service. */
  readonly service: string
  readonly expiresAt: Date
  readonly bodyDigest: string
}

export interface ServiceTokenOptions {
  readonly key: SigningKey
  readonly service: string
  readonly audience: string
  readonly bodyDigest: string
  readonly now: Date
}

/** Issues the service JWT of one attempt of a call. @throws ConfigurationError if a name isn't valid */
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

/** Returns the audience of an app's service JWTs. A token for one app is invalid at any other. */
export function serviceAudience({ audience }: { readonly audience: string }): string {
  return `${audience}/internal`
}

/** Returns the SHA-256 in base64url. */
export async function digestBody(body: Uint8Array<ArrayBuffer>): Promise<string> {
  return base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))
}

export function requireClaimText(name: string, value: unknown): asserts value is string {
  if (!isClaimText(value))
    throw new ConfigurationError(`${name} must be 1 to 200 characters, none of them a control character`)
}

/** Returns whether a value can be a path, a service name, or a key in a service JWT and in a database. */
export function isClaimText(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{C}]{1,200}$/u.test(value)
}
