import { ALGORITHMS, type KeySet, type VerificationAlgorithm, type VerificationKey } from './key-set.ts'
import type { PublicJwk } from './policy.ts'
import { verificationKey } from './verification-key.ts'

/** A key set that can be replaced while the program runs. */
export interface LiveKeys extends KeySet {
  findKey(kid: string): VerificationKey | undefined
  /** Replaces the set if it differs. @throws AuthError `KEYS_UNAVAILABLE` for an invalid key */
  replace(jwks: readonly PublicJwk[], revoked: readonly string[]): Promise<void>
}

export function createLiveKeys(algorithms: readonly VerificationAlgorithm[] = ALGORITHMS): LiveKeys {
  let keys = new Map<string, VerificationKey>()
  let revokedKids = new Set<string>()
  let fingerprint = ''
  let version = 0
  const listeners = new Set<() => void>()

  return {
    get version() {
      return version
    },
    algorithms: new Set(algorithms),
    findKey: (kid) => (revokedKids.has(kid) ? undefined : keys.get(kid)),
    keys: () => keys.values(),
    // `replace` has imported every key.
    ready: async () => {},
    status(kid) {
      if (revokedKids.has(kid)) return 'revoked'
      return keys.has(kid) ? 'known' : 'gone'
    },
    subscribe(listener) {
      const entry = () => listener()
      listeners.add(entry)
      return () => void listeners.delete(entry)
    },
    async replace(jwks, revoked) {
      const newFingerprint = JSON.stringify([jwks, revoked])
      if (newFingerprint === fingerprint) return
      const imported = jwks.map(verificationKey)
      await Promise.all(imported.map((key) => key.cryptoKey()))
      keys = new Map(imported.map((key) => [key.kid, key]))
      revokedKids = new Set(revoked)
      fingerprint = newFingerprint
      version++
      for (const listener of [...listeners]) listener()
    },
  }
}
