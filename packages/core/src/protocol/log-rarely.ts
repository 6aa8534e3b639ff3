const LOG_EVERY_MS = 60_000
const MAX_ERRORS = 100

const loggedAt = new Map<string, number>()

/** Logs an error that every request may cause, such as an invalid configuration, at most once a minute. */
export function logRarely(error: unknown): void {
  const text = String(error)
  const now = performance.now()
  if (now - (loggedAt.get(text) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return
  if (loggedAt.size >= MAX_ERRORS) loggedAt.clear()
  loggedAt.set(text, now)
  console.error(error)
}
