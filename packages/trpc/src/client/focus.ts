const TYPES = ['visibilitychange', 'focus', 'online', 'pageshow']

/** Whether the page is in the background. */
export function isHidden(): boolean {
  return globalThis.document?.hidden ?? false
}

/**
 * Calls the listener when the page becomes visible, focused, or online: its timers may have been paused. A page
 * that comes back from the history is as old as when the user left it.
 */
export function onFocus(listener: (isFromHistory: boolean) => void): () => void {
  if (!globalThis.document) return () => {}
  const notify = (event: Event) => {
    if (!isHidden()) listener('persisted' in event && event.persisted === true)
  }
  for (const type of TYPES) window.addEventListener(type, notify)
  return () => {
    for (const type of TYPES) window.removeEventListener(type, notify)
  }
}
