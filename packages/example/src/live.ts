import { EventEmitter, on } from 'node:events'
import type { AuthEvent } from '@sallyport/core'

/** What a page may have to fetch again. */
export type Topic = 'notes' | 'reports' | 'sessions' | 'account' | 'users' | 'all'

/** Its events are named by the id of whom they concern. */
const users = new EventEmitter().setMaxListeners(0)
const EVERYONE = 'everyone'

/** Tells all pages of a user that are open at this node. */
export function tell(userId: string, topic: Topic): void {
  users.emit(userId, topic)
}

/** Tells the pages of the user whom an event is about, and those of admins. */
export function tellEvent(event: AuthEvent): void {
  if (!('userId' in event) || event.userId === null) return
  // A page that reads again because of a read would never stop.
  if (event.type.startsWith('admin.')) return
  tell(event.userId, event.type.startsWith('session.') ? 'sessions' : 'account')
  tell(EVERYONE, 'users')
}

/**
 * What changes for a user until the signal says that nobody listens any more. The first is `all`: something may have changed before. Other
 * nodes hear nothing of it; that a session has ended they hear from the database.
 */
export async function* changesOf(userId: string, signal: AbortSignal): AsyncGenerator<Topic> {
  const changes = on(users, userId, { signal })
  yield 'all'
  for await (const [topic] of changes) yield topic
}

/** That something has changed for anyone. */
export const changesOfEveryone = (signal: AbortSignal): AsyncGenerator<Topic> => changesOf(EVERYONE, signal)
