import { base64url, compactVerify } from 'jose'
import type { KeySet, VerificationKey } from '../keys/key-set.ts'
import { AuthError, isAuthError } from '../protocol/errors.ts'
import { countStrings, isBase64url, parseJsonObject } from './encoding.ts'

/** The maximum length of a token in characters. A cookie can't exceed 4,096 bytes. */
export const MAX_TOKEN_LENGTH = 3_800

/**
 * Verifies the signature of a compact JWS (RFC 7515 section 5.2), after cheap checks of its shape and header.
 * The algorithm is that of the key (RFC 8725 section 3.1), so a token can't choose it.
 * @param options.typ the required header `typ`; null if it must be absent; undefined accepts any
 * @throws AuthError `TOKEN_INVALID`, or `KEYS_UNAVAILABLE` if the keys can't be loaded
 */
export async function verifyJws(
  token: string,
  keySet: KeySet,
  options: { typ?: string | null } = {},
): Promise<{ payload: Uint8Array; keyId: string }> {
  const [headerSegment] = splitJws(token)
  const header = parseHeader(headerSegment)
  if (options.typ !== undefined && header.typ !== (options.typ ?? undefined))
    throw new AuthError('TOKEN_INVALID')
  if (!keySet.algorithms.has(header.alg)) throw new AuthError('TOKEN_INVALID')

  const key = await findKey(header.kid, keySet)
  if (key === undefined || key.alg !== header.alg) throw new AuthError('TOKEN_INVALID')
  const cryptoKey = await key.cryptoKey()
  try {
    const { payload } = await compactVerify(token, cryptoKey, { algorithms: [key.alg] })
    return { payload, keyId: key.kid }
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}

async function findKey(kid: string, keySet: KeySet): Promise<VerificationKey | undefined> {
  try {
    return await keySet.findKey(kid)
  } catch (cause) {
    throw isAuthError(cause) ? cause : new AuthError('KEYS_UNAVAILABLE', { cause })
  }
}

/** Splits a JWS, and checks its shape and encoding. @throws AuthError `TOKEN_INVALID` */
export function splitJws(token: unknown): [header: string, payload: string, signature: string] {
  if (typeof token !== 'string' || token.length > MAX_TOKEN_LENGTH) throw new AuthError('TOKEN_INVALID')
  const [header = '', payload = '', signature = '', ...more] = token.split('.', 4)
  const segments: [string, string, string] = [header, payload, signature]
  if (more.length > 0 || !segments.every((segment) => segment !== '' && isBase64url(segment)))
    throw new AuthError('TOKEN_INVALID')
  return segments
}

/** Rejects all other members: `jwk`, `jku`, `x5u`, `x5c`, `crit`, `b64`, ... (RFC 8725 section 3.10). */
function parseHeader(segment: string): { alg: string; kid: string; typ: string | undefined } {
  try {
    const bytes = base64url.decode(segment)
    const header = parseJsonObject(bytes)
    const { alg, kid, typ, ...others } = header
    const isKnown = typeof alg === 'string' && typeof kid === 'string' && Object.keys(others).length === 0
    if (!isKnown || (typ !== undefined && typeof typ !== 'string')) throw new TypeError('Not our header')
    // `JSON.parse` keeps the last of two equal members; other verifiers may use the first (RFC 7515, 4).
    if (countStrings(bytes) !== 2 * Object.keys(header).length) throw new SyntaxError('A member occurs twice')
    return { alg, kid, typ }
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}
