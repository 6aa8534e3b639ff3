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
  const { get, subscribe, dispatch } = store
  let timer: ReturnType<typeof setTimeout> | undefined

  function schedule(): void {
    clearTimeout(timer)
    const delay = nextRefreshInMs(get())
    // A page in the background keeps no session alive; it refreshes when it is visible again, or after a
    // failure, because its rejected subscriptions wait for it.
    const isIdle = () => globalThis.document?.hidden && get().failures === 0
    if (delay !== null) timer = setTimeout(() => isIdle() || refresh(), delay)
  }

  const unfollow = followTabs(store, refresh)
  const unsubscribe = subscribe(schedule)
  const unfocus = onFocus((isFromHistory) => {
    if (isFromHistory) dispatch({ type: 'restored' })
    const state = get()
    if (isRefreshDue(state) || (state.shown.error && !isSignedOut(state))) refresh()
    else schedule()
  })
  if (isRefreshDue(get())) refresh()
  else schedule()
  return () => {
    clearTimeout(timer)
    unsubscribe()
    unfocus()
    unfollow?.()
  }
}

function isRefreshDue({ shown: { status }, held, isRestored }: SessionState): boolean {
  return isRestored || status === 'loading' || status === 'unknown' || isDue(held)
}

/** A failed request may have been to learn of a sign-in. */
function isSignedOut({ shown: { status }, failures }: SessionState): boolean {
  return (status === 'unauthenticated' && !failures) || status === 'signing-out'
}

/** Returns the milliseconds until the next refresh; null if it would change nothing. */
function nextRefreshInMs(state: SessionState): number | null {
  const { shown, held, failures, isRestored } = state
  // Without a failure, an error says nothing about the token endpoint.
  const error = failures ? shown.error : null
  if ((!isRestored && isSignedOut(state)) || (error && isDecided(error))) return null
  const dueIn = held ? dueInMs(held, Math.random() / PARTS_OF_LEEWAY) : 0
  const delay = error ? backOff(failures, error.retryAfterSeconds) : dueIn
  return Math.max(MIN_TIMER_MS, Math.min(delay, MAX_TIMER_MS))
}

const FOCUS_EVENTS = ['visibilitychange', 'focus', 'online', 'pagehide']

/** Calls the listener when the page becomes visible, focused, or online: its timers may have been paused. */
export function onFocus(listener: (isFromHistory?: boolean) => void): () => void {
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
