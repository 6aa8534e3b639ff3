import type { Session } from '@sallyport/core'
import { isObject } from './is-object.ts'

/** A session as JSON has it: moments are ISO 8601 text, and one that is no date is empty. */
export type SessionJson = Omit<Session, 'expiresAt' | 'user'> & {
  readonly expiresAt: string
  readonly user: Omit<Session['user'], 'banExpires'> & { readonly banExpires: string | null }
}

/** A session for the way to another process. */
export function toSessionJson(session: Session): SessionJson {
  const { expiresAt, user } = session
  const banExpires = user.banExpires === null ? null : toText(user.banExpires)
  return { ...session, expiresAt: toText(expiresAt), user: { ...user, banExpires } }
}

/** Not null: an unreadable date counts as passed, and none at all may stand for no end. */
function toText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/**
 * A session from another process. What is not plainly one is refused by `validateSession`.
 *
 * @throws TypeError where it has not the shape of one
 */
export function fromSessionJson(json: unknown): Session {
  if (!isSessionJson(json)) throw new TypeError('Not a session')
  const { expiresAt, user } = json
  const banExpires = user.banExpires === null ? null : new Date(user.banExpires)
  return { ...json, expiresAt: new Date(expiresAt), user: { ...user, banExpires } }
}

function isSessionJson(json: unknown): json is SessionJson {
  if (!isObject(json) || typeof json.expiresAt !== 'string' || !isObject(json.user)) return false
  return json.user.banExpires === null || typeof json.user.banExpires === 'string'
}
