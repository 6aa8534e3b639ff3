import { isSessionOver } from '@sallyport/core/internal/protocol'
import {
  type AuthClientError,
  clientError,
  isRejection,
  isSignedOut,
  isSuperseded,
  toClientError,
} from './auth-client-error.ts'
import { pause } from './back-off.ts'
import type { ClientSession, SessionStore } from './client-session.ts'
import { accept, end, inTurn, latestReceipt } from './credentials.ts'
import { hold, isDue, isTokenResponse } from './receipt.ts'
import { routeOf } from './route-of.ts'
import type { AuthState } from './session-state.ts'

/** Refreshes that rejected calls may cause in a minute: more would be a loop. */
const MAX_PER_MINUTE = 3

type Refresher = Pick<ClientSession, 'refresh' | 'refreshAfter' | 'refreshDue' | 'report'>

/** The state when a refresh began; `seq` is that of the newest JWT. */
type Begun = { readonly epoch: number; readonly seq: number }

/**
 * Requests new JWTs from the token endpoint, or signs out, one request at a time for all callers and tabs.
 * Only these endpoints decide whether a session has ended. Any other failure leaves the status as it is.
 */
export function createRefresher(store: SessionStore, isScheduled: () => boolean): Refresher {
  let running: Promise<void> | null = null
  /** When rejected calls caused requests; `isCaused` is true until the refresh in flight sends one. */
  let causedAt: number[] = []
  let isCaused = false

  function refresh(): Promise<AuthState> {
    running ??= start()
    return running.then(() => store.get().shown)
  }

  async function start(): Promise<void> {
    const begun = store.get()
    const isOther = () => store.get().epoch !== begun.epoch
    try {
      if (begun.shown.status === 'signing-out')
        await inTurn(store, async () => {
          // Another tab has signed the same user out, or another user has signed in.
          if (isOther()) return
          const response = await store.send(routeOf('signOut'))
          throw clientError('success' in response ? 'SESSION_NOT_FOUND' : 'UNKNOWN')
        })
      else {
        // An older JWT of another tab may belong to a session that has ended since.
        const seq = begun.seq || (store.tokens ? 0 : ((await store.tabs.latest?.())?.seq ?? 0))
        await (store.server || store.tabs.lock(() => request({ ...begun, seq })))
      }
    } catch (cause) {
      if (!isOther()) {
        const error = toClientError(cause)
        if (isSignedOut(error)) await end(store, error)
        else store.emit({ type: 'failed', error, final: isRejection(error) || store.server !== false })
      }
    }
    // The user signs out, or the page was in the history meanwhile.
    const { isStale, shown } = store.get()
    if (isOther() && (isStale || shown.status === 'signing-out')) return start()
    // At once, or a sign-out that follows the failure would join a refresh that is over.
    running = null
    isCaused = false
  }

  async function request(begun: Begun): Promise<void> {
    let error: AuthClientError | null = null
    // After a superseded secret, the current one may be on its way.
    for (const milliseconds of [0, 200, 1_000, 3_000]) {
      if (milliseconds) await pause(milliseconds, store.subscribe)
      if (await isDone(begun)) return
      // Only a request can be part of a loop. Credentials from another tab need none.
      if (isCaused) causedAt.push(performance.now())
      isCaused = false
      try {
        const response = await store.send(routeOf('token'))
        if (!isTokenResponse(response)) throw clientError('UNKNOWN')
        return await accept(store, response, begun)
      } catch (cause) {
        error = toClientError(cause)
        if (!isSuperseded(error)) throw error
      }
    }
    if (!error || (await isDone(begun))) return
    await end(store, error)
    // With a superseded cookie, a sign-out clears the cookies and leaves the session as it is.
    if (!store.tokens) await store.send(routeOf('signOut')).catch(() => {})
  }

  /** Returns whether another tab was faster, or another user has signed in. */
  async function isDone(begun: Begun): Promise<boolean> {
    const known = await latestReceipt(store)
    const state = store.get()
    if (state.epoch !== begun.epoch) return true
    if (state.seq > begun.seq && !isDue(state.held)) return true
    if (!known && store.tokens) store.emit({ type: 'ended' })
    // If the clock was set back, a receipt of the former user may seem newer than a page of the current one.
    else if (
      known &&
      known.seq > begun.seq &&
      !isDue(hold(known)) &&
      known.sessionId === (state.shown.sessionId ?? known.sessionId)
    )
      store.emit({ type: 'received', receipt: known })
    else return false
    return true
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
    async refreshDue() {
      const { shown, held, failures, isStale } = store.get()
      const isUnread = store.tokens && shown.status === 'loading'
      // With listeners, a timer retries.
      const isDelayed = failures && isScheduled()
      if (isUnread || (isStale && !isDelayed) || (isDue(held) && !failures)) await refresh()
    },
    async refreshAfter(rejected) {
      const isNewer = () => store.get().seq > rejected
      const { failures, shown } = store.get()
      const isDelayed = !running && failures && isScheduled()
      if (!isNewer() && shown.status !== 'unauthenticated' && !isDelayed)
        if (!(await refreshForCall()) && !store.get().failures)
          // In an outage, no new JWT was rejected.
          store.emit({ type: 'failed', error: clientError('REFRESH_LOOP') })
      if (isNewer()) return
      const { status, error } = store.get().shown
      throw error ?? clientError(status === 'unauthenticated' ? 'SESSION_NOT_FOUND' : 'USER_CHANGED')
    },
    report(reason, userChanges) {
      const { shown } = store.get()
      if (!isSessionOver(reason) && reason !== 'ACCOUNT_BANNED') return
      const isCurrent = userChanges === shown.userChanges && shown.status === 'authenticated'
      if (isCurrent && shown.error?.code !== reason) void refreshForCall()
    },
  }
}
