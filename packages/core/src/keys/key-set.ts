/** Algorithms of our own keys: Ed25519 (RFC 9864) and ECDSA over P-256 (RFC 7518 section 3.4). */
export const ALGORITHMS = ['Ed25519', 'ES256'] as const

/** One of `ALGORITHMS`. */
export type Algorithm = (typeof ALGORITHMS)[number]

/** Algorithms of tokens. Those that aren't an {@link Algorithm} are for other issuers, if declared. */
export type VerificationAlgorithm = Algorithm | 'ES384' | 'ES512' | 'RS256' | 'PS256'

/** A key of WebCrypto, under a name that every version of the Node types has. */
export type WebCryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A public key that verifies JWTs, bound to one algorithm. */
export interface VerificationKey {
  readonly kid: string
  readonly alg: VerificationAlgorithm
  /** The public key itself, which identifies it whatever its id. */
  readonly material: string
  /** Returns the key for WebCrypto, imported once. */
  cryptoKey(): Promise<WebCryptoKey>
}

/**
 * Whether a key is in the set; is no longer in it, as happens to every key in time; or was removed because it
 * leaked, so nothing it signed is valid.
 */
export type KeyStatus = 'known' | 'gone' | 'revoked'

/** The public keys that Step 1 trusts: `staticJwks`, `dynamicJwks`, or a key file. */
export interface KeySet {
  /** Increases when the set changes, so results of an earlier set aren't trusted. */
  readonly version: number
  /** The algorithms that a token header may name. */
  readonly algorithms: ReadonlySet<string>
  /**
   * Returns the key with this id, or undefined.
   *
   * @throws AuthError `KEYS_UNAVAILABLE` if the set can't be loaded
   */
  findKey(kid: string): VerificationKey | undefined | Promise<VerificationKey | undefined>
  /** Returns the loaded keys. Never fetches. */
  keys(): Iterable<VerificationKey>
  /**
   * Resolves when the set is loaded and each of its keys can be used, for health checks.
   *
   * @throws AuthError `KEYS_UNAVAILABLE`
   */
  ready(): Promise<void>
  /** Returns the current status of a key that verified something. Never fetches. */
  status(kid: string): KeyStatus
  /** Calls the listener after each change of the set. Returns a function that stops it. */
  subscribe(listener: () => void): () => void
}
