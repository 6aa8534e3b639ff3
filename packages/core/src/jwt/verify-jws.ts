import { base64url, compactVerify } from 'jose'
import * as z from 'zod/mini'
import { AuthError } from '../errors.ts'
import type { KeySet } from '../keys/key-set.ts'
import { isBase64url } from './base64url.ts'
import { countStrings, parseJson } from './json.ts'

/** Longest token that is looked at, in characters. No cookie is larger than 4,096 bytes, so none of ours is cut off. */
export const MAX_TOKEN_LENGTH = 3_800

/** A JWS whose signature is right. */
export interface VerifiedJws {
  readonly payload: Uint8Array
  readonly keyId: string
  /** The version of the key set that the signature was checked with. */
  readonly keySetVersion: number
}

/** No other member is understood, `jwk`, `jku`, `x5u`, `x5c`, `crit`, `b64` and `zip` among them (RFC 8725 section 3.10). */
const headerSchema = z.strictObject({ alg: z.string(), kid: z.string(), typ: z.optional(z.string()) })

/**
 * Checks the signature of a compact JWS (RFC 7515 section 5.2) and nothing else.
 *
 * The cheapest check comes first: shape, canonical base64url, header, and only then a key and cryptography. The algorithm
 * is the key's own (RFC 8725 section 3.1), so a token cannot choose it.
 *
 * @param options.typ the required `typ` header; without it any is accepted
 * @throws AuthError `TOKEN_INVALID`, or `KEYS_UNAVAILABLE` when the keys cannot be had
 */
export async function verifyJws(
  token: unknown,
  keySet: KeySet,
  options: { typ?: string } = {},
): Promise<VerifiedJws> {
  if (typeof token !== 'string' || token.length > MAX_TOKEN_LENGTH) throw new AuthError('TOKEN_INVALID')
  const segments = token.split('.', 4)
  if (segments.length !== 3 || !segments.every((segment) => segment !== '' && isBase64url(segment))) {
    throw new AuthError('TOKEN_INVALID')
  }
  const header = parseHeader(segments[0] ?? '')
  if (options.typ !== undefined && header.typ !== options.typ) throw new AuthError('TOKEN_INVALID')
  if (!keySet.algorithms.has(header.alg)) throw new AuthError('TOKEN_INVALID')

  const keySetVersion = keySet.version
  const key = await keySet.findKey(header.kid)
  if (key === undefined || key.alg !== header.alg) throw new AuthError('TOKEN_INVALID')
  const cryptoKey = await key.cryptoKey()
  try {
    const { payload } = await compactVerify(token, cryptoKey, { algorithms: [key.alg] })
    return { payload, keyId: key.kid, keySetVersion }
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}

function parseHeader(segment: string): z.infer<typeof headerSchema> {
  try {
    const bytes = base64url.decode(segment)
    const header = headerSchema.parse(parseJson(bytes))
    // `JSON.parse` keeps the last of two members of one name; another verifier may go by the first (RFC 7515 section 4).
    if (countStrings(bytes) !== 2 * Object.keys(header).length) throw new SyntaxError('A member occurs twice')
    return header
  } catch (cause) {
    throw new AuthError('TOKEN_INVALID', { cause })
  }
}
