/** Algorithms of our own keys: Ed25519 (RFC 9864) and ECDSA over P-256 (RFC 7518 section 3.4). */
export const ALGORITHMS = ['Ed25519', 'ES256'] as const

/** One of {@link ALGORITHMS}. */
export type Algorithm = (typeof ALGORITHMS)[number]

/** A public key that may verify JWTs, bound to one algorithm. */
export interface VerificationKey {
  readonly kid: string
  readonly alg: Algorithm
  /** The key for WebCrypto, imported once. */
  cryptoKey(): Promise<CryptoKey>
}

/** The public keys that Step 1 trusts, from wherever they come: {@link staticJwks} or a dynamic JWKS. */
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
}
