import type { KeySet } from '../keys/key-set.ts'

/** An issuer whose tokens Step 1 accepts, and the format of its tokens. */
export interface TrustedIssuer {
  /** The claim `iss`, byte for byte. */
  readonly issuer: string
  /** The claim `aud`, or one of its entries. */
  readonly audience: string
  /** The header `typ`; null if it must be absent. */
  readonly typ: string | null
  /** Its keys, such as `dynamicJwks('https://id.example.com/jwks', { algorithms: ['RS256'] })`. */
  readonly jwks: KeySet
  /** The claims that name the user and the session in our database. */
  readonly claims: { readonly userId: string; readonly sessionId: string }
  /** Seconds after `iat` at which a token of another issuer expires, if its `exp` is later. @default 3_600 */
  readonly maxAgeSeconds?: number
}

export const DEFAULT_MAX_AGE_SECONDS: number = 60 * 60

/** The `typ` of our own JWTs (RFC 9068 section 2.1), so no other kind of token passes for one. */
export const JWT_TYPE = 'at+jwt'

/** Returns a number that increases when any of the key sets changes. */
export function keysVersion({ issuers }: { readonly issuers: readonly TrustedIssuer[] }): number {
  let version = 0
  for (const { jwks } of issuers) version += jwks.version
  return version
}
