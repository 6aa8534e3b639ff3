/** Algorithms of our own keys: Ed25519 (RFC 9864) and ECDSA over P-256 (RFC 7518 section 3.4). */
export const ALGORITHMS = ['Ed25519', 'ES256'] as const

/** One of {@link ALGORITHMS}. */
export type Algorithm = (typeof ALGORITHMS)[number]

/** What the tokens of other issuers may be signed with besides, where they are declared. */
export type VerificationAlgorithm = Algorithm | 'ES384' | 'ES512' | 'RS256' | 'PS256'

/** A key of WebCrypto, under a name that every version of the Node types knows. */
export type WebCryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A public key that may verify JWTs, bound to one algorithm. */
export interface VerificationKey {
  readonly kid: string
  readonly alg: VerificationAlgorithm
  /** The public half itself: what makes it this key, whatever its id. */
  readonly material: string
  /** The key for WebCrypto, imported once. */
  cryptoKey(): Promise<WebCryptoKey>
}

/**
 * How a key stands: in the set; no longer in it, as every key will be one day; or removed because it leaked, so that nothing which
 * rests on it counts any more.
 */
export type KeyStatus = 'known' | 'gone' | 'revoked'

/** The public keys that Step 1 trusts, from wherever they come: `staticJwks`, `dynamicJwks` or a key file. */
export interface KeySet {
  /** Grows when the set changes, so that what was verified with an earlier set is not trusted. */
  readonly version: number
  /** What a token header may name. */
  readonly algorithms: ReadonlySet<string>
  /**
   * The key of this id, or undefined.
   *
   * @throws AuthError `KEYS_UNAVAILABLE` when the set cannot be had
   */
  findKey(kid: string): VerificationKey | undefined | Promise<VerificationKey | undefined>
  /** The keys at hand; none where the set has yet to be fetched. Asks nobody. */
  keys(): Iterable<VerificationKey>
  /**
   * Resolves when the set is at hand and each of its keys can be used; for health checks.
   *
   * @throws AuthError `KEYS_UNAVAILABLE`
   */
  ready(): Promise<void>
  /** How a key that has verified something stands now. Asks nobody. */
  status(kid: string): KeyStatus
  /** Calls the listener whenever the set has changed, until the returned function is called. */
  subscribe(listener: () => void): () => void
}
