import { AuthError } from '../protocol/errors.ts'
import { readLimited } from '../protocol/read-limited.ts'
import { requireSecureUrl } from '../protocol/settings.ts'
import { MAX_PAYLOAD_BYTES } from '../protocol.ts'
import { ALGORITHMS, type KeySet, type VerificationAlgorithm, type VerificationKey } from './key-set.ts'
import { createLiveKeys } from './live-keys.ts'
import { parsePublicJwks, parseSet } from './policy.ts'

const MINUTE_MS = 60_000

/** A set is used for so long before another is fetched in the background. */
const FRESH_MS = 5 * MINUTE_MS
/** A set is used for so long while the endpoint fails. */
const STALE_MS = 24 * 60 * MINUTE_MS
/** Between two fetches that an unknown `kid` causes: anyone can make one up. */
const UNKNOWN_KEY_MS = 30_000
const SHORTEST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

/** What {@link dynamicJwks} takes. */
export interface DynamicJwksOptions {
  /** What the keys may be for; widen it only for tokens of another issuer. @default ['Ed25519', 'ES256'] */
  algorithms?: readonly VerificationAlgorithm[]
  /** Milliseconds after which a fetch is given up. @default 5_000 */
  timeoutMs?: number
  /** Told of every fetch that failed; the keys that are known stay in use. */
  onError?: (error: unknown) => void
  /** For tests. @default globalThis.fetch */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The clock in milliseconds, for tests. @default Date.now */
  now?: () => number
}

/**
 * A key set that is fetched from the auth server, such as `https://app.example.com/api/auth/jwks` (spec section 2). The first
 * request waits for it; from then on it is renewed in the background and outlives an endpoint that fails by a day.
 *
 * @throws ConfigurationError when the URL is neither https nor on this machine
 */
export function dynamicJwks(url: string, options: DynamicJwksOptions = {}): KeySet {
  const { algorithms = ALGORITHMS, timeoutMs = 5_000, onError = () => {}, now = Date.now } = options
  const request = options.fetch ?? ((input, init) => fetch(input, init))
  // Over plain HTTP, an attacker could inject their own keys.
  requireSecureUrl('The URL of a dynamic JWKS', url)
  const live = createLiveKeys(algorithms)
  let fetchedAt = Number.NEGATIVE_INFINITY
  let unknownKeyAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let nextAttemptAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | null = null

  /** One fetch for everyone who waits; none before the pause after a failure is over. */
  function refresh(): Promise<void> {
    if (underWay !== null) return underWay
    if (now() < nextAttemptAt) return Promise.reject(unavailable(nextAttemptAt - now()))
    underWay = fetchKeys().finally(() => {
      underWay = null
    })
    return underWay
  }

  async function fetchKeys(): Promise<void> {
    try {
      const response = await request(url, {
        headers: { accept: 'application/json' },
        // Not followed, since a redirect is no 200; runtimes at the edge do not know `error`.
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
      if (response.status !== 200) throw new Error(`The JWKS endpoint answered ${response.status}`)
      const text = await readLimited(response.body, MAX_PAYLOAD_BYTES)
      await live.replace(parsePublicJwks(text, 'JWKS', algorithms), parseRevoked(text))
      fetchedAt = now()
      failures = 0
      nextAttemptAt = Number.NEGATIVE_INFINITY
    } catch (error) {
      const pauseMs = Math.min(SHORTEST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
      failures++
      // Spread out, so that all nodes do not come back at once.
      nextAttemptAt = now() + Math.max(SHORTEST_PAUSE_MS, pauseMs * (0.5 + Math.random() / 2))
      onError(error)
      throw unavailable(nextAttemptAt - now(), error)
    }
  }

  async function findWithFetch(kid: string): Promise<VerificationKey | undefined> {
    await refresh()
    return live.findKey(kid)
  }

  return {
    get version() {
      return live.version
    },
    algorithms: live.algorithms,
    keys: live.keys,
    async ready() {
      if (now() - fetchedAt > STALE_MS) await refresh()
    },
    status: live.status,
    subscribe: live.subscribe,
    findKey(kid) {
      const ageMs = now() - fetchedAt
      if (ageMs > STALE_MS) return findWithFetch(kid)
      // Whoever asks now is answered from the set at hand; a failure has been reported and changes nothing.
      if (ageMs > FRESH_MS) refresh().catch(() => {})
      const key = live.findKey(kid)
      if (key !== undefined || live.status(kid) === 'revoked') return key
      if (now() - unknownKeyAt < UNKNOWN_KEY_MS) {
        // The last fetch failed: the key may exist, so this is not decided.
        if (failures > 0) throw unavailable(nextAttemptAt - now())
        return undefined
      }
      unknownKeyAt = now()
      return findWithFetch(kid)
    },
  }
}

function unavailable(pauseMs: number, cause?: unknown): AuthError {
  return new AuthError('KEYS_UNAVAILABLE', {
    cause,
    retryAfterSeconds: Math.max(1, Math.ceil(pauseMs / 1000)),
  })
}

function parseRevoked(text: string): string[] {
  const { revoked } = parseSet(text, 'JWKS').set
  return Array.isArray(revoked) ? revoked.filter((kid) => typeof kid === 'string') : []
}
