import { base64url } from 'jose'
import { isNumericDate, isVersion, parsePayload } from '../jwt/claims.ts'
import { countStrings, isBase64url, isJsonObject, type JsonObject } from '../jwt/encoding.ts'
import type { Identity } from '../jwt/identity.ts'
import { splitJws, verifyJws } from '../jwt/verify-jws.ts'
import type { KeySet } from '../keys/key-set.ts'
import { AuthError } from '../protocol/errors.ts'
import { isClaimText, SERVICE_JWT_TYPE, SERVICE_TOKEN_SECONDS, type ServiceClaims } from './service-token.ts'

/** Tokens with other claims are rejected. */
const CLAIMS = ['iss', 'aud', 'iat', 'exp', 'jti', 'fn', 'op', 'body', 'act', 'idempotencyKey']
const ACTOR_MEMBERS = ['sub', 'sessionId', 'version', 'iss', 'kid', 'exp']

/** The public keys of services: one set for all, or one set per service name. */
export type ServiceKeys = KeySet | Readonly<Record<string, KeySet>>

export function keySetsOf(keys: ServiceKeys): readonly KeySet[] {
  return isKeySet(keys) ? [keys] : Object.values(keys)
}

function isKeySet(keys: ServiceKeys): keys is KeySet {
  return typeof keys.findKey === 'function'
}

/** Returns the set of the service that a token names. Only a key in that set can have signed the name. */
function keysFor(token: string, keys: ServiceKeys): KeySet {
  if (isKeySet(keys)) return keys
  const [, payload] = splitJws(token)
  const { iss } = parseClaims(base64url.decode(payload))
  const named = typeof iss === 'string' && Object.hasOwn(keys, iss) ? keys[iss] : undefined
  if (named === undefined) throw new AuthError('TOKEN_INVALID')
  return named
}

/**
 * Verifies the signature, audience, and lifetime of a service JWT. The caller must compare it with the
 * request and reject a replay.
 * @throws AuthError `TOKEN_INVALID`, `TOKEN_EXPIRED`, or `KEYS_UNAVAILABLE`
 */
export async function verifyServiceToken(
  token: string,
  { jwks, audience, now }: { jwks: ServiceKeys; audience: string; now: Date },
): Promise<ServiceClaims> {
  const { payload } = await verifyJws(token, keysFor(token, jwks), { typ: SERVICE_JWT_TYPE })
  const { iat, exp, aud, ...claims } = parseClaims(payload)
  if (aud !== audience || !isNumericDate(iat) || !isNumericDate(exp)) throw new AuthError('TOKEN_INVALID')
  const lifetime = exp - iat
  if (lifetime <= 0 || lifetime > SERVICE_TOKEN_SECONDS) throw new AuthError('TOKEN_INVALID')
  // A token from the future could be used long after it was issued.
  if (iat * 1000 > now.getTime() + SERVICE_TOKEN_SECONDS * 1000) throw new AuthError('TOKEN_INVALID')
  if (exp * 1000 <= now.getTime()) throw new AuthError('TOKEN_EXPIRED')
  return parseCall(claims, new Date(exp * 1000))
}

function parseClaims(payload: Uint8Array): JsonObject {
  const claims = parsePayload(payload)
  // `JSON.parse` keeps the last of two equal claims, and the signer may have meant the first (RFC 7519).
  const once = new TextEncoder().encode(JSON.stringify(claims))
  if (countStrings(payload) !== countStrings(once)) throw new AuthError('TOKEN_INVALID')
  return claims
}

function parseCall(claims: JsonObject, expiresAt: Date): ServiceClaims {
  const { iss: service, jti: id, fn: path, op: type, body: bodyDigest, idempotencyKey = null } = claims
  const isCall =
    Object.keys(claims).every((name) => CLAIMS.includes(name)) &&
    isClaimText(service) &&
    isClaimText(id) &&
    isClaimText(path) &&
    (type === 'query' || type === 'mutation') &&
    typeof bodyDigest === 'string' &&
    bodyDigest.length === 43 &&
    isBase64url(bodyDigest) &&
    (idempotencyKey === null || (type === 'mutation' && isClaimText(idempotencyKey)))
  if (!isCall) throw new AuthError('TOKEN_INVALID')
  return { service, id, path, type, bodyDigest, idempotencyKey, actor: parseActor(claims.act), expiresAt }
}

function parseActor(act: unknown): Identity | null {
  if (act === undefined) return null
  if (!isJsonObject(act)) throw new AuthError('TOKEN_INVALID')
  const { sub: userId, sessionId, version, iss: issuer, kid: keyId, exp } = act
  const isActor =
    Object.keys(act).every((name) => ACTOR_MEMBERS.includes(name)) &&
    isClaimText(userId) &&
    isClaimText(sessionId) &&
    (version === null || isVersion(version)) &&
    isClaimText(issuer) &&
    isClaimText(keyId) &&
    isNumericDate(exp)
  if (!isActor) throw new AuthError('TOKEN_INVALID')
  return { userId, sessionId, version, issuer, keyId, expiresAt: new Date(exp * 1000) }
}
