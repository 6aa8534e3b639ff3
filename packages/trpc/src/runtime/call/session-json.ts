import type { StoredSession } from '@sallyport/core'
import { isObject } from './take-result.ts'

/** A session in JSON. Dates are ISO 8601 text, and an invalid date is empty. */
export type SessionJson = Omit<StoredSession, 'expiresAt' | 'ban'> & {
  readonly expiresAt: string
  readonly ban: { readonly until: string | null } | null
}

/** Converts a session to JSON, with the ban that Step 2 in the other process needs. */
export function toSessionJson(session: StoredSession): SessionJson {
  const { expiresAt, ban } = session
  return {
    ...session,
    expiresAt: toText(expiresAt),
    ban: ban === null ? null : { until: ban.until === null ? null : toText(ban.until) },
  }
}

/** Never null: an unreadable date counts as passed, and null would be a permanent ban. */
function toText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/**
 * Parses a session from another process. `validateSession` rejects one of another session or user.
 *
 * @throws TypeError if it doesn't have the shape of a session
 */
export function fromSessionJson(json: unknown): StoredSession {
  if (!isSessionJson(json)) throw new TypeError('Not a session')
  const { expiresAt, ban } = json
  return {
    ...json,
    expiresAt: new Date(expiresAt),
    ban: ban === null ? null : { until: ban.until === null ? null : new Date(ban.until) },
  }
}

function isSessionJson(json: unknown): json is SessionJson {
  if (!isObject(json) || typeof json.expiresAt !== 'string' || !isObject(json.user)) return false
  if (json.ban === null) return true
  return isObject(json.ban) && (json.ban.until === null || typeof json.ban.until === 'string')
}
