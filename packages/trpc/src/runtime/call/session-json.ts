import type { StoredSession } from '@sallyport/core'
import { isObject } from './is-object.ts'

/** A session as JSON has it: dates are ISO 8601 text, and an invalid date is empty. */
export type SessionJson = Omit<StoredSession, 'expiresAt' | 'ban'> & {
  readonly expiresAt: string
  readonly ban: { readonly until: string | null } | null
}

/** Writes a session for another process, with the ban that Step 2 there needs to decide. */
export function toSessionJson(session: StoredSession): SessionJson {
  const { expiresAt, ban } = session
  return {
    ...session,
    expiresAt: toText(expiresAt),
    ban: ban === null ? null : { until: ban.until === null ? null : toText(ban.until) },
  }
}

/** Never null: an unreadable date is treated as passed, and null would be a ban without an end. */
function toText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/**
 * Reads a session from another process. `validateSession` rejects one of another session or user.
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
