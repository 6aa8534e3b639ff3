import type { Reason } from '@sallyport/core'
import { type HydrationState, isSessionOver, isTokenReason } from '@sallyport/core/internal/protocol'
import type { Page } from './page.ts'
import { fetchInto, type PrefetchOptions, type PrefetchQueryClient } from './prefetch.ts'
import { refusalOf } from './refusal-of.ts'
import { type Found, over, type PageServer, refresh, secondsLeft } from './standing.ts'

/** Who a page is rendered for. One a request, whoever asks for it. */
export interface ServerAuth {
  /**
   * For the client of the page: `createAuthClient({ hydrate: state })`. Take it last, when everything is fetched: its seconds count from
   * this moment, and a call may have found the session ended.
   */
  readonly state: HydrationState
  /** Why nobody is signed in, or nobody knows; null for someone who is, and for a stranger. With `ACCOUNT_BANNED` the page can say so. */
  readonly reason: Reason | null
  /** The headers of the page with the cookies that its browser has now: for `createAuthContext(config).headers`. */
  readonly headers: Headers
  /** To be sent to the browser, each in a `Set-Cookie` of its own, with the page. */
  readonly setCookies: readonly string[]
  /**
   * Asks the app's own router. When that refuses a JWT that the browser had, the work is done once more with a fresh one. So let it read:
   * it may run twice.
   *
   * @throws what `work` throws
   */
  call<Result>(work: (headers: Headers) => Promise<Result>): Promise<Result>
  /**
   * Fetches what the page will ask for into the `QueryClient` of this one request. Never rejects: a query that fails leaves nothing
   * behind, and the browser asks again. When the session turns out to have ended, or its user to be banned, whoever hears of it and
   * whenever, nothing at all is left.
   *
   * @param queries what `queryOptions()` or `infiniteQueryOptions()` return
   */
  prefetch(queryClient: PrefetchQueryClient, queries: readonly PrefetchOptions[]): Promise<void>
}

/** Opens the page of a user who was found. */
export function openServerAuth(page: Page, found: Found, server: PageServer): ServerAuth {
  const { config } = server
  let { standing, setCookies } = found
  let refreshing: Promise<void> | null = null
  const filled = new Set<PrefetchQueryClient>()
  let isEmptied = false

  async function attempt<Result>(work: (headers: Headers) => Promise<Result>): Promise<Result> {
    try {
      return await work(standing.headers)
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal !== null) note(refusal.reason)
      throw error
    }
  }

  /** What Step 2 has found, or the token endpoint. */
  function note(reason: Reason): void {
    if (isSessionOver(reason)) {
      standing = over(page, reason, { config, setCookies }).standing
      empty()
    } else if (reason === 'ACCOUNT_BANNED') {
      // The client asks who is signed in, and hears of the ban from the token endpoint.
      if (standing.status === 'authenticated')
        standing = { status: 'unknown', reason, headers: standing.headers }
      empty()
    }
  }

  /** The page is no longer its user's: nothing of theirs stands beside a state that is not. */
  function empty(): void {
    isEmptied = true
    for (const queryClient of filled) queryClient.clear()
  }

  /** One for all calls of the page, also those that are refused later. */
  function refreshOnce(refused: Reason): Promise<void> {
    refreshing ??= refresh(page, refused, server).then((refreshed) => {
      setCookies = refreshed.setCookies
      if (standing.status === 'authenticated') standing = refreshed.standing
      if (refreshed.standing.status !== 'authenticated' && refreshed.standing.reason !== null)
        note(refreshed.standing.reason)
    })
    return refreshing
  }

  async function call<Result>(work: (headers: Headers) => Promise<Result>): Promise<Result> {
    const used = standing
    try {
      return await attempt(work)
    } catch (error) {
      const refusal = refusalOf(error)
      const isRefreshable = used.status === 'authenticated' && used.isRefreshable
      if (!isRefreshable || refusal === null || !refusal.isReplayable || !isTokenReason(refusal.reason))
        throw error
      await refreshOnce(refusal.reason)
      if (standing.status !== 'authenticated') throw error
      return attempt(work)
    }
  }

  return {
    get state(): HydrationState {
      if (standing.status !== 'authenticated') {
        const { status, reason } = standing
        return status === 'unknown' && reason === 'ACCOUNT_BANNED' ? { status, reason } : { status }
      }
      const { userId, sessionId } = standing.identity
      const expiresIn = secondsLeft(standing.identity, config)
      return { status: 'authenticated', userId, sessionId, expiresIn }
    },
    get reason() {
      return standing.status === 'authenticated' ? null : standing.reason
    },
    get headers() {
      return standing.headers
    },
    get setCookies() {
      return setCookies
    },
    call,
    async prefetch(queryClient, queries) {
      filled.add(queryClient)
      const fetched = queries.map(async (query) => {
        try {
          await call(() => fetchInto(queryClient, query))
        } catch {
          queryClient.removeQueries({ queryKey: query.queryKey, exact: true })
        }
      })
      await Promise.all(fetched)
      if (isEmptied) queryClient.clear()
    },
  }
}
