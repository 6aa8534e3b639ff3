import type { ServiceClaims } from '@sallyport/core/internal/server'

/** The service JWTs that this process has seen. */
export interface TokenMemory {
  /** False when it has been used before. */
  use(token: Pick<ServiceClaims, 'service' | 'id' | 'expiresAt'>): boolean
  readonly size: number
}

/** How many there are before those that have expired are looked for. */
const SWEEP_AT = 1_000

/** Remembers service JWTs for as long as they count: only a holder of a key of a service can add one. */
export function createTokenMemory(now: () => Date): TokenMemory {
  const seen = new Map<string, number>()
  let sweepAt = SWEEP_AT

  function sweep(): void {
    const time = now().getTime()
    for (const [id, expiresAt] of seen) if (expiresAt <= time) seen.delete(id)
    sweepAt = Math.max(SWEEP_AT, seen.size * 2)
  }

  return {
    use({ service, id: tokenId, expiresAt }) {
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
