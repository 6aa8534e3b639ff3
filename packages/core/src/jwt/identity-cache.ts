import type { Identity } from './identity.ts'

/** Identities of tokens whose signature has been verified, by the whole token. */
export interface IdentityCache {
  /** The identity behind a token, if it was verified with the key set of this version. */
  get(token: string, version: number): Identity | undefined
  /** Remembers what was verified with the key set of this version. */
  set(token: string, version: number, identity: Identity): void
  /** How many it holds. */
  readonly size: number
}

/**
 * A bounded map from token to identity. It is keyed by the whole token, since a key made of parts or of a short hash could
 * mix two users up, and is emptied when the key set changes. The oldest entry goes first.
 */
export function createIdentityCache(maxEntries: number): IdentityCache {
  const identities = new Map<string, Identity>()
  let currentVersion = 0

  return {
    get(token, version) {
      return version === currentVersion ? identities.get(token) : undefined
    },
    set(token, version, identity) {
      // Verified with a set that has been replaced meanwhile.
      if (version < currentVersion) return
      if (version > currentVersion) {
        identities.clear()
        currentVersion = version
      }
      if (identities.size >= maxEntries) {
        const oldest = identities.keys().next()
        if (!oldest.done) identities.delete(oldest.value)
      }
      identities.set(detach(token), identity)
    },
    get size() {
      return identities.size
    },
  }
}

/** A copy that shares no memory with the Cookie header the token was cut from; a slice would keep all of it alive. */
function detach(token: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(token))
}
