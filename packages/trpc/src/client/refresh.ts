import { isSessionOver, type Route } from '@sallyport/core/internal/protocol'
import { clientError, isSignedOut, isSuperseded, toClientError } from './auth-client-error.ts'
import { pause } from './back-off.ts'
import type { ClientSession, SessionStore } from './client-session.ts'
import { accept, end, latestReceipt } from './credentials.ts'
import { hold, isDue, isTokenResponse } from './receipt.ts'
import { routeOf } from './route-of.ts'
import type { AuthState } from './session-state.ts'

/** Refreshes that rejected calls may cause in a minute: more would be a loop. */
const MAX_PER_MINUTE = 3

/** Pauses before attempts. After a superseded secret, the current one may be on its way. */
const PAUSES_MS = [0, 200, 1_000, 3_000] as const

type Refresher = Pick<ClientSession, 'refresh' | 'refreshAfter' | 'refreshIfDue' | 'report'> & {
  abort(): void
}

/** The state when a refresh began; `seq` is that of the newest JWT. */
type Begun = { readonly revision: number; readonly seq: number }

/**
 * Requests new JWTs from the token endpoint, one request at a time for all callers and tabs. Only that
 * endpoint decides whether a session has ended. Any other failure leaves the status as it is.
 */
export function createRefresher(store: SessionStore, isScheduled: () => boolean): Refresher {
  const { get, dispatch, tabs, tokens } = store
  let running: Promise<void> | null = null
  let aborter: AbortController | undefined
  /** When rejected calls caused requests; `isCaused` is true until the refresh in flight sends one. */
  let causedAt: number[] = []
  let isCaused = false

  function refresh(): Promise<AuthState> {
    running ??= start().finally(() => {
      running = null
      isCaused = false
    })
    return running.then(() => get().shown)
  }

  async function start(): Promise<void> {
    if (store.server) return
    const { revision, held } = get()
    try {
      // An older JWT of another tab may belong to a session that has ended since.
      const seq = held?.seq ?? (tokens ? 0 : ((await tabs.latest?.())?.seq ?? 0))
      await tabs.exclusively(() => request({ revision, seq }))
    } catch (cause) {
      if (get().revision !== revision) return
      const error = toClientError(cause)
      if (isSignedOut(error)) await end(store, error)
      else dispatch({ type: 'failed', error })
    }
  }

  async function request(begun: Begun): Promise<void> {
    let error = clientError('SECRET_SUPERSEDED')
    for (const milliseconds of PAUSES_MS) {
      if (milliseconds) await pause(milliseconds, store.subscribe)
      if (await isDone(begun)) return
      // Only a request can be part of a loop. Credentials from another tab need none.
      if (isCaused) causedAt.push(performance.now())
      isCaused = false
      try {
        const response = await call(routeOf('token'))
        if (!isTokenResponse(response)) throw clientError('UNKNOWN')
        return await accept(store, response, begun)
      } catch (cause) {
        error = toClientError(cause)
        if (!isSuperseded(error)) throw error
      }
    }
    if (await isDone(begun)) return
    await end(store, error, Math.max(begun.seq, get().held?.seq ?? 0))
    // With a superseded cookie, a sign-out clears the cookies and leaves the session as it is.
    if (!tokens) await call(routeOf('signOut')).catch(() => {})
  }

  /** Returns whether another tab was faster, or another user has signed in. */
  async function isDone({ revision, seq }: Begun): Promise<boolean> {
    const known = await latestReceipt(store)
    const { held, shown, revision: current } = get()
    if (current !== revision || shown.status === 'signing-out') return true
    if ((held?.seq ?? 0) > seq && !isDue(held)) return true
    if (!known && tokens) dispatch({ type: 'ended', error: clientError('SESSION_NOT_FOUND') })
    else if (known && known.seq > seq && !isDue(hold(known))) dispatch({ type: 'received', receipt: known })
    else return false
    return true
  }

  function call(route: Route): Promise<object> {
    aborter = new AbortController()
    return store.fetchEndpoint(route, { aborter })
  }

  /** Refreshes for a rejected call. Returns null after three in a minute. */
  function refreshForCall(): Promise<AuthState> | null {
    const now = performance.now()
    causedAt = causedAt.filter((at) => now - at < 60_000)
    if (!running) isCaused = causedAt.length < MAX_PER_MINUTE
    return running || isCaused ? refresh() : null
  }

  return {
    refresh,
    abort: () => aborter?.abort(),
    async refreshIfDue() {
      const { shown, held, failures, isRestored } = get()
      const isUnread = tokens && shown.status === 'loading'
      // Without listeners, no timer retries.
      const mustRetry = isRestored && !isScheduled()
      if (isUnread || mustRetry || (!failures && (isRestored || isDue(held)))) await refresh()
    },
    async refreshAfter(rejected) {
      const isNewer = () => get().generation > rejected
      const { shown, failures } = get()
      const isDelayed = !running && isScheduled() && failures > 0
      if (!isNewer() && shown.status !== 'unauthenticated' && !isDelayed)
        if ((await refreshForCall()) === null && get().failures === 0)
          // In an outage, no new JWT was rejected.
          dispatch({ type: 'looped', error: clientError('REFRESH_LOOP') })
      if (isNewer()) return
      const { status, error } = get().shown
      throw status === 'unauthenticated' ? get().ended.error : (error ?? clientError('USER_CHANGED'))
    },
    report(reason, userChanges) {
      const { shown } = get()
      if (!isSessionOver(reason) && reason !== 'ACCOUNT_BANNED') return
      const isCurrent = userChanges === shown.userChanges && shown.status === 'authenticated'
      if (isCurrent && shown.error?.code !== reason) void refreshForCall()
    },
  }
}
