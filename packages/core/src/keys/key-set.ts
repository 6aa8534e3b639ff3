import type { FailureSource } from '../events/failure-source.ts'

/** Algorithms of our own keys: Ed25519 (RFC 9864) and ECDSA over P-256 (RFC 7518 section 3.4). */
export const ALGORITHMS = ['Ed25519', 'ES256'] as const

export type Algorithm = (typeof ALGORITHMS)[number]

/** An {@link Algorithm}, or one that only tokens of other issuers use. `EdDSA` is Ed25519 (RFC 8037). */
export type VerificationAlgorithm = Algorithm | 'EdDSA' | 'ES384' | 'ES512' | 'RS256' | 'PS256'

/** A key of WebCrypto, under a name that every version of the Node types has. */
export type WebCryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A public key that verifies JWTs, bound to one algorithm. */
export interface VerificationKey {
  readonly kid: string
  readonly alg: VerificationAlgorithm
  /** The public key itself, which identifies it under any id. */
  readonly material: string
  /** Returns the key for WebCrypto, imported once. */
  cryptoKey(): Promise<WebCryptoKey>
}

/** `gone` has left the set, usually by expiry. `revoked` has leaked, so nothing it signed is valid. */
export type KeyStatus = 'known' | 'gone' | 'revoked'

/** The public keys that Step 1 trusts: `staticJwks`, `dynamicJwks`, or a key file. */
export interface KeySet {
  /** Increases when the set changes, so results of an earlier set aren't trusted. */
  readonly version: number
  /** The algorithms that a token header may name. */
  readonly algorithms: ReadonlySet<string>
  /** Returns the key with this id. @throws AuthError `KEYS_UNAVAILABLE` if the set can't be loaded */
  findKey(kid: string): VerificationKey | undefined | Promise<VerificationKey | undefined>
  /** Returns the loaded keys. Never fetches. */
  keys(): Iterable<VerificationKey>
  /** Resolves when every key can be used, for health checks. @throws AuthError `KEYS_UNAVAILABLE` */
  ready(): Promise<void>
  /** Returns the current status of a key that verified something. Never waits for a fetch. */
  status(kid: string): KeyStatus
  /** Calls the listener after each change of the set. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void
  /** The failures of a set that is read again in the background. */
  readonly failures?: FailureSource
}
