/** Whether nobody sees the page. */
export function isHidden(): boolean {
  return typeof document !== 'undefined' && document.hidden
}

/**
 * Calls the listener when the page is seen, used or connected again, while a timer may have slept. A page that comes back from the
 * history is as old as when it was left.
 */
export function listenForWaking(listener: (isFromHistory: boolean) => void): () => void {
  const wake = (event: Event) => listener('persisted' in event && event.persisted === true)
  if (typeof document === 'undefined') return () => {}
  for (const type of TYPES) window.addEventListener(type, wake)
  return () => {
    for (const type of TYPES) window.removeEventListener(type, wake)
  }
}

const TYPES = ['visibilitychange', 'focus', 'online', 'pageshow']
