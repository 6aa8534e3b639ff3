import type { Identity } from './identity.ts'

/** Identities of tokens whose signature was verified. */
export interface IdentityCache {
  /** Returns the identity of a token, if it was verified with this version of the key set. */
  get(token: string, version: number): Identity | undefined
  set(token: string, version: number, identity: Identity): void
  readonly size: number
}

/**
 * Creates a bounded map from token to identity. Its key is the whole token, because parts or a short hash
 * could confuse two users. A new key set empties it; the oldest entry is evicted first.
 */
export function createIdentityCache(maxEntries: number): IdentityCache {
  const identities = new Map<string, Identity>()
  let currentVersion = 0

  return {
    get(token, version) {
      return version === currentVersion ? identities.get(token) : undefined
    },
    set(token, version, identity) {
      // Verified with a set that was replaced in the meantime.
      if (version < currentVersion) return
      if (version > currentVersion) {
        identities.clear()
        currentVersion = version
      }
      if (identities.size >= maxEntries) {
        const oldest = identities.keys().next()
        if (!oldest.done) identities.delete(oldest.value)
      }
      // A copy, because a slice of the Cookie header would keep the whole header in memory.
      identities.set(new TextDecoder().decode(new TextEncoder().encode(token)), identity)
    },
    get size() {
      return identities.size
    },
  }
}
