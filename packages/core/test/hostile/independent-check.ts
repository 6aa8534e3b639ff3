import { isUtf8 } from 'node:buffer'
import { createPublicKey, verify } from 'node:crypto'

/** What a verifier must know about an issuer. */
export interface Expected {
  readonly issuer: string
  readonly audience: string
  readonly types: readonly string[]
  readonly keys: readonly Readonly<Record<string, string>>[]
}

/**
 * Implements Step 1 again, from RFC 7515, RFC 7519, and the design, with `node:crypto` alone. A mistake in
 * the library or its dependencies can't be in both.
 */
export function isGenuine(token: string, expected: Expected, now: Date): boolean {
  if (!passesCheapChecks(token, expected)) return false
  const [header, payload, signature] = decode(token)
  const { kid, alg } = parseObject(header) ?? {}
  const key = expected.keys.find((jwk) => jwk.kid === kid && jwk.alg === alg)
  if (key === undefined) return false
  const isSigned = verify(
    alg === 'ES256' ? 'sha256' : null,
    Buffer.from(token.slice(0, token.lastIndexOf('.'))),
    { key: createPublicKey({ key: { ...key }, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    signature,
  )
  return isSigned && areClaimsInOrder(parseObject(payload), expected, now)
}

/**
 * Returns whether a token deserves a key lookup: text, length, three canonical base64url segments, and the
 * header.
 */
export function passesCheapChecks(token: string, { types, keys }: Expected): boolean {
  const segments = token.split('.')
  if (token.length > 3_800 || segments.length !== 3 || segments.includes('')) return false
  const bytes = decode(token)
  if (bytes.some((part, index) => part.toString('base64url') !== segments[index])) return false
  const header = parseObject(bytes[0])
  // Three members, names and values, have twelve quotes. More quotes mean a repeated name.
  const quotes = bytes[0].toString().replaceAll(/\\./g, '').split('"').length - 1
  return (
    header !== null &&
    Object.keys(header).sort().join() === 'alg,kid,typ' &&
    quotes === 12 &&
    typeof header.kid === 'string' &&
    types.some((type) => type === header.typ) &&
    keys.some((key) => key.alg === header.alg)
  )
}

function areClaimsInOrder(
  claims: Record<string, unknown> | null,
  { issuer, audience }: Expected,
  now: Date,
): boolean {
  if (claims === null) return false
  const { iss, aud, sub, jti, userId, sessionId, iat, exp, nbf = 0, version } = claims
  return (
    iss === issuer &&
    aud === audience &&
    sub === userId &&
    [sub, jti, sessionId].every((id) => typeof id === 'string' && id.length > 0 && id.length <= 128) &&
    Number.isSafeInteger(version) &&
    Number(version) > 0 &&
    [iat, exp, nbf].every((time) => Number.isInteger(time) && Number(time) >= 0 && Number(time) <= 8.64e12) &&
    Number(nbf) * 1000 <= now.getTime() &&
    Number(exp) * 1000 > now.getTime()
  )
}

function decode(token: string): [header: Buffer, payload: Buffer, signature: Buffer] {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return [
    Buffer.from(header, 'base64url'),
    Buffer.from(payload, 'base64url'),
    Buffer.from(signature, 'base64url'),
  ]
}

function parseObject(bytes: Buffer): Record<string, unknown> | null {
  if (!isUtf8(bytes)) return null
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}
