import { isOut } from './auth-state.ts'
import { isHidden, onFocus } from './focus.ts'
import type { SessionStore } from './session-store.ts'
import { isRefreshDue, nextRefreshInMs } from './when-to-refresh.ts'

/** Keeps the JWT fresh, by a timer and when the page is focused. Returns what stops it. */
export function scheduleRefresh(
  { get, subscribe, dispatch }: SessionStore,
  refresh: () => unknown,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined

  function schedule(): void {
    clearTimeout(timer)
    const delay = nextRefreshInMs(get())
    // A page in the background keeps no session alive; it refreshes when it is visible again.
    if (delay !== null) timer = setTimeout(() => isHidden() || refresh(), delay)
  }

  const unsubscribe = subscribe(schedule)
  const unfocus = onFocus((isFromHistory) => {
    if (isFromHistory) dispatch({ type: 'restored' })
    const state = get()
    const { shown, isRestored } = state
    if (isRestored || (!isOut(shown) && (shown.error !== null || isRefreshDue(state)))) refresh()
    else schedule()
  })
  if (isRefreshDue(get())) refresh()
  else schedule()
  return () => {
    clearTimeout(timer)
    unsubscribe()
    unfocus()
  }
}
