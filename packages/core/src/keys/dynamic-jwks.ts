import { createFailureSource } from '../events/failure-source.ts'
import { AuthError } from '../protocol/errors.ts'
import { readLimited } from '../protocol/read-limited.ts'
import { requireSecureUrl } from '../protocol/settings.ts'
import { UNCACHED } from '../protocol/uncached.ts'
import { backOff, MAX_PAYLOAD_BYTES } from '../protocol.ts'
import { ALGORITHMS, type KeySet, type VerificationAlgorithm, type VerificationKey } from './key-set.ts'
import { createLiveKeys } from './live-keys.ts'
import { parsePublicJwks } from './policy.ts'

/** After this age, a set is renewed in the background. */
const FRESH_MS = 5 * 60_000
/** Until this age, a set is used while the endpoint fails. */
const STALE_MS = 24 * 60 * 60_000
/** The pause between two fetches for an unknown `kid`, which anyone can invent. */
const UNKNOWN_KEY_MS = 30_000

/** Options of {@link dynamicJwks}. */
export interface DynamicJwksOptions {
  /** Allow other algorithms only for tokens of another issuer. @default ['Ed25519', 'ES256'] */
  algorithms?: readonly VerificationAlgorithm[]
  /** The timeout of a fetch, in milliseconds. @default 5_000 */
  timeoutMs?: number
  /** For tests. @default globalThis.fetch */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The clock in milliseconds, for tests. @default Date.now */
  now?: () => number
}

/**
 * Fetches a key set from the auth server, such as `https://app.example.com/api/auth/jwks` (`docs/keys.md`).
 * The first request waits for it. It is renewed in the background after 5 minutes, and used for up to a day
 * while the endpoint fails.
 * @throws ConfigurationError if the URL is neither https nor on this machine
 */
export function dynamicJwks(url: string, options: DynamicJwksOptions = {}): KeySet {
  const { algorithms = ALGORITHMS, timeoutMs = 5_000, now = Date.now } = options
  const { fetch: request = (input, init) => fetch(input, init) } = options
  // Over plain HTTP, an attacker could inject their own keys.
  requireSecureUrl('The URL of a dynamic JWKS', url)
  const live = createLiveKeys(algorithms)
  const failures = createFailureSource()
  const { findKey: findLoaded, status: statusLoaded } = live
  let fetchedAt = Number.NEGATIVE_INFINITY
  let unknownKeyAt = Number.NEGATIVE_INFINITY
  let attempts = 0
  let nextAttemptAt = Number.NEGATIVE_INFINITY
  let pendingFetch: Promise<void> | undefined

  /** Concurrent callers share one fetch. Rejects during the pause after a failure. */
  async function refresh(): Promise<void> {
    const waitMs = nextAttemptAt - now()
    // It is longer if the clock was set back. `performance.now` isn't, but stops in a suspended process.
    if (waitMs > 0 && waitMs <= 30_000) throw unavailable()
    pendingFetch ??= fetchKeys().finally(() => {
      pendingFetch = undefined
    })
    return pendingFetch
  }

  async function fetchKeys(): Promise<void> {
    try {
      const response = await request(url, {
        headers: { accept: 'application/json' },
        // A redirect then fails as a status other than 200. Edge runtimes don't support `error`.
        redirect: 'manual',
        ...UNCACHED,
        signal: AbortSignal.timeout(timeoutMs),
      })
      if (response.status !== 200) throw new Error(`${url}: status ${response.status}`)
      const text = await readLimited(response.body, MAX_PAYLOAD_BYTES)
      const keys = parsePublicJwks(text, url, algorithms)
      const { revoked }: { revoked?: unknown } = JSON.parse(text)
      await live.replace(keys, Array.isArray(revoked) ? revoked : [])
      fetchedAt = now()
      attempts = 0
      failures.recover()
    } catch (error) {
      nextAttemptAt = now() + backOff(++attempts, { minMs: 1_000, maxMs: 30_000, atLeastMs: 1_000 })
      failures.fail('KEYS_UNAVAILABLE', error)
      throw unavailable()
    }
  }

  /** Its cause is that of the last fetch, also during the pause. */
  function unavailable(): AuthError {
    const retryAfterSeconds = Math.max(1, Math.ceil((nextAttemptAt - now()) / 1000))
    return new AuthError('KEYS_UNAVAILABLE', { cause: failures.current?.cause, retryAfterSeconds })
  }

  async function findAfterFetch(kid: string): Promise<VerificationKey | undefined> {
    await refresh()
    return findLoaded(kid)
  }

  return Object.assign(live, {
    failures,
    ready: async () => {
      if (now() - fetchedAt > STALE_MS) await refresh()
    },
    status(kid: string) {
      // In the background: this caller uses the current set, and `onFailure` gets a failure.
      if (Math.abs(now() - fetchedAt) > FRESH_MS) refresh().catch(() => {})
      return statusLoaded(kid)
    },
    findKey(kid: string) {
      if (now() - fetchedAt > STALE_MS) return findAfterFetch(kid)
      // Also renews the set. Step 2 does too, because calls and streams need no lookup for a known token.
      if (live.status(kid) !== 'gone') return findLoaded(kid)
      // A fetch that is running may bring the key.
      if (pendingFetch === undefined && Math.abs(now() - unknownKeyAt) < UNKNOWN_KEY_MS) {
        // The last fetch failed, so the key may exist: 503, not 401.
        if (attempts > 0) throw unavailable()
        return undefined
      }
      unknownKeyAt = now()
      return findAfterFetch(kid)
    },
  })
}
