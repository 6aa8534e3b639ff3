import { isDecided } from './auth-client-error.ts'
import { backOff, MAX_TIMER_MS } from './back-off.ts'
import type { SessionStore } from './client-session.ts'
import { followTabs } from './credentials.ts'
import { dueInMs, isDue } from './receipt.ts'
import type { SessionState } from './session-state.ts'

/** A timer may fire early by a sixth of the leeway, so devices don't refresh at once. */
const PARTS_OF_LEEWAY = 6

/** The shortest delay: the JWTs of a session that is about to end are due at once. */
const MIN_TIMER_MS = 1_000

/** Follows other tabs, and keeps the JWT fresh by a timer and on focus. Returns a function that stops it. */
export function followSession(store: SessionStore, refresh: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined

  function schedule(): void {
    clearTimeout(timer)
    const state = store.get()
    // Without a failure, an error says nothing about the token endpoint.
    const error = state.failures ? state.shown.error : null
    // Another request would change nothing.
    if ((!state.isStale && isSignedOut(state)) || isDecided(error)) return
    const dueIn = state.held ? dueInMs(state.held, Math.random() / PARTS_OF_LEEWAY) : 0
    const delay = error ? backOff(state.failures, error.retryAfterSeconds) : dueIn
    const wait = Math.max(MIN_TIMER_MS, Math.min(delay, MAX_TIMER_MS))
    timer = setTimeout(() => {
      // A page in the background keeps no session alive; it refreshes when it is visible again, or after a
      // failure, because its rejected subscriptions wait for it.
      if (!globalThis.document?.hidden || store.get().failures) refresh()
    }, wait)
  }

  const unfollow = followTabs(store, refresh)
  const unsubscribe = store.subscribe(schedule)
  const unfocus = onFocus((isFromHistory) => {
    if (isFromHistory) store.emit({ type: 'stale' })
    const state = store.get()
    if (isRefreshDue(state) || (state.shown.error && !isSignedOut(state))) refresh()
    else schedule()
  })
  if (isRefreshDue(store.get())) refresh()
  else schedule()
  return () => {
    clearTimeout(timer)
    unsubscribe()
    unfocus()
    unfollow?.()
  }
}

function isRefreshDue({ shown: { status }, held, isStale }: SessionState): boolean {
  return isStale || status === 'loading' || status === 'unknown' || isDue(held)
}

/** A failed request may have been to learn of a sign-in. */
function isSignedOut({ shown: { status }, failures }: SessionState): boolean {
  return status === 'unauthenticated' && !failures
}

const FOCUS_EVENTS = ['visibilitychange', 'focus', 'online', 'pagehide']

/** Calls the listener when the page becomes visible, focused, or online: its timers may have been paused. */
function onFocus(listener: (isFromHistory?: boolean) => void): () => void {
  if (!globalThis.document) return () => {}
  let isInHistory: boolean | undefined
  // A page from the history becomes visible, and other listeners make calls, before `pageshow`.
  const notify = ({ persisted }: Event & Partial<PageTransitionEvent>) => {
    isInHistory = persisted ?? (document.hidden ? isInHistory : void listener(isInHistory))
  }
  // First of all listeners. `focus` isn't captured, since its elements have such events too.
  for (const type of FOCUS_EVENTS) window.addEventListener(type, notify, type !== 'focus')
  return () => {
    for (const type of FOCUS_EVENTS) window.removeEventListener(type, notify, type !== 'focus')
  }
}
