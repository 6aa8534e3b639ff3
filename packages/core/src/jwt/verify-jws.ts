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
 * @param options.isOwn false ignores the harmless members that other issuers add to the header
 * @throws AuthError `TOKEN_INVALID`, or `KEYS_UNAVAILABLE` if the keys can't be loaded
 */
export async function verifyJws(
  token: string,
  keySet: KeySet,
  options: { typ?: string | null; isOwn?: boolean } = {},
): Promise<{ payload: Uint8Array; keyId: string }> {
  const [headerSegment] = splitJws(token)
  const header = parseHeader(headerSegment, options)
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

/** Members that name a key or change how a token is verified (RFC 8725 section 3.10). */
const UNSAFE_MEMBERS = new Set(['b64', 'crit', 'enc', 'jku', 'jwk', 'x5c', 'x5u', 'zip'])

/** Rejects unsafe members, and all unknown ones in our own tokens. */
function parseHeader(
  segment: string,
  { isOwn = true }: { isOwn?: boolean },
): { alg: string; kid: string; typ: string | undefined } {
  try {
    const bytes = base64url.decode(segment)
    const header = parseJsonObject(bytes)
    const { alg, kid, typ, ...others } = header
    const isAllowed = Object.keys(others).every((name) => !isOwn && !UNSAFE_MEMBERS.has(name))
    if (typeof alg !== 'string' || typeof kid !== 'string' || !isAllowed)
      throw new TypeError('Not our header')
    if (typ !== undefined && typeof typ !== 'string') throw new TypeError('typ is not a string')
    // `JSON.parse` keeps the last of two equal members; other verifiers may use the first (RFC 7515, 4).
    const texts = Object.values(header).filter((value) => typeof value === 'string')
    if (countStrings(bytes) !== Object.keys(header).length + texts.length)
      throw new SyntaxError('A member occurs twice')
    return { alg, kid, typ }
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}
