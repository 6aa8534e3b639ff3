import type { ServiceClaims } from '@sallyport/core/internal/server'

/** The unexpired service JWTs that this process has seen. */
export interface TokenMemory {
  /** Returns false for a token that was seen before. */
  consume(token: Pick<ServiceClaims, 'service' | 'id' | 'expiresAt'>): boolean
  readonly size: number
}

/** The size at which expired tokens are first removed. */
const MIN_SWEEP_SIZE = 1_000

/** Remembers service JWTs until they expire. Only the holder of a service key can add one. */
export function createTokenMemory(now: () => Date): TokenMemory {
  const seen = new Map<string, number>()
  let sweepAt = MIN_SWEEP_SIZE

  function sweep(): void {
    const time = now().getTime()
    for (const [id, expiresAt] of seen) if (expiresAt <= time) seen.delete(id)
    sweepAt = Math.max(MIN_SWEEP_SIZE, seen.size * 2)
  }

  return {
    consume({ service, id: tokenId, expiresAt }) {
      const id = JSON.stringify([service, tokenId])
      if (seen.has(id)) return false
      if (seen.size >= sweepAt) sweep()
      seen.set(id, expiresAt.getTime())
      return true
    },
    get size() {
      return seen.size
    },
  }
}
