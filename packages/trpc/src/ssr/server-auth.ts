import { isAuthError, type Reason } from '@sallyport/core'
import { type HydrationState, isSessionOver, isTokenReason } from '@sallyport/core/internal/protocol'
import { createPageLink, type PageLink } from './page-link.ts'
import type { Page } from './page-request.ts'
import { type PageServer, type PageUser, refresh, secondsLeft, signedOut } from './resolve-user.ts'
import { isReason } from './token-source.ts'

/** The part of TanStack's `QueryClient` that `prefetch` uses. */
export interface PrefetchQueryClient {
  fetchQuery(options: PrefetchOptions): Promise<unknown>
  fetchInfiniteQuery(options: PrefetchOptions & { readonly initialPageParam: unknown }): Promise<unknown>
  removeQueries(filters: { readonly queryKey: readonly unknown[]; readonly exact: true }): void
  clear(): void
}

/** The part of TanStack's query options that `prefetch` uses. */
export interface PrefetchOptions {
  readonly queryKey: readonly unknown[]
}

/** The user of a page, and functions that call the router for them. */
export interface ServerAuth {
  /** The option `hydrate` of `createAuthClient`. Read it after all calls: they may end the session. */
  readonly state: HydrationState
  /** The reason why the page has no user; null if it has one, or no credentials. */
  readonly reason: Reason | null
  /** The headers of the page with the browser's current cookies, for `createAuthContext(config).headers`. */
  readonly headers: Headers
  /** Cookies for the browser. Send each in a separate `Set-Cookie`. */
  readonly setCookies: readonly string[]
  /** Runs `work`, and again with a fresh JWT if the router rejects the browser's. `work` must only read. */
  call<Result>(work: (headers: Headers) => Promise<Result>): Promise<Result>
  /**
   * Fetches queries into the `QueryClient` of this request. Never rejects: the browser fetches a failed query
   * again. Clears the query client if any call finds that the session ended or the user is banned.
   */
  prefetch(queryClient: PrefetchQueryClient, queries: readonly PrefetchOptions[]): Promise<void>
  /** @internal For `authLink`. */
  readonly '~link': PageLink
}

export function openServerAuth(page: Page, resolved: PageUser, server: PageServer): ServerAuth {
  const { config } = server
  let user = resolved
  let refreshing: Promise<void> | null = null
  const filled = new Set<PrefetchQueryClient>()
  let isCleared = false

  function apply(reason: Reason | null): void {
    if (reason !== null && isSessionOver(reason))
      user = signedOut(page, reason, { config, setCookies: user.setCookies })
    else if (reason !== 'ACCOUNT_BANNED') return
    // The client calls the token endpoint, which responds with the ban.
    else if (user.status === 'authenticated') user = { ...user, status: 'unknown', reason }
    // The page must not contain data of a user that it isn't for.
    isCleared = true
    for (const queryClient of filled) queryClient.clear()
  }

  async function attempt<Result>(work: (headers: Headers) => Promise<Result>): Promise<Result> {
    try {
      return await work(user.headers)
    } catch (error) {
      apply(rejectionOf(error)?.reason ?? null)
      throw error
    }
  }

  /** Refreshes once for all calls of the page, also those that are rejected later. */
  function refreshOnce(rejected: Reason): Promise<void> {
    refreshing ??= refresh(page, rejected, server).then((refreshed) => {
      user = user.status === 'authenticated' ? refreshed : { ...user, setCookies: refreshed.setCookies }
      apply(refreshed.reason)
    })
    return refreshing
  }

  async function call<Result>(work: (headers: Headers) => Promise<Result>): Promise<Result> {
    const isRefreshable = user.status === 'authenticated' && user.isRefreshable
    try {
      return await attempt(work)
    } catch (error) {
      const rejection = rejectionOf(error)
      if (!isRefreshable || !rejection?.isReplayable || !isTokenReason(rejection.reason)) throw error
      await refreshOnce(rejection.reason)
      if (user.status !== 'authenticated') throw error
      return attempt(work)
    }
  }

  return {
    get state(): HydrationState {
      if (user.status === 'authenticated') {
        const { userId, sessionId } = user.identity
        return { status: user.status, userId, sessionId, expiresIn: secondsLeft(user.identity, config) }
      }
      const { status, reason } = user
      return status === 'unknown' && reason === 'ACCOUNT_BANNED' ? { status, reason } : { status }
    },
    get reason() {
      return user.reason
    },
    get headers() {
      return user.headers
    },
    get setCookies() {
      return user.setCookies
    },
    call,
    '~link': createPageLink(call),
    async prefetch(queryClient, queries) {
      filled.add(queryClient)
      const fetched = queries.map((query) => {
        // The retries of an app's browsers would delay the page.
        const once = { ...query, retry: false }
        const isInfinite = 'initialPageParam' in once
        return call(() =>
          isInfinite ? queryClient.fetchInfiniteQuery(once) : queryClient.fetchQuery(once),
        ).catch(() => queryClient.removeQueries({ queryKey: query.queryKey, exact: true }))
      })
      await Promise.all(fetched)
      if (isCleared) queryClient.clear()
    },
  }
}

/** Returns the reason why a router rejected a call, and whether no resolver ran; null for other errors. */
function rejectionOf(error: unknown): { reason: Reason; isReplayable: boolean } | null {
  const { cause, data }: { cause?: unknown; data?: unknown } = Object(error)
  const authError = [error, cause].find(isAuthError)
  if (authError !== undefined) return { reason: authError.reason, isReplayable: true }
  const { auth }: { auth?: unknown } = Object(data)
  const { reason, replay }: { reason?: unknown; replay?: unknown } = Object(auth)
  return isReason(reason) ? { reason, isReplayable: replay === true } : null
}
