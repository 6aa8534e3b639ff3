import { EventEmitter, on } from 'node:events'
import type { AuthEvent } from '@sallyport/core'

/** The data that a page must fetch again. */
export type Topic = 'notes' | 'reports' | 'sessions' | 'account' | 'organizations' | 'users' | 'all'

/** Event names are user ids. */
const changes = new EventEmitter().setMaxListeners(0)
const EVERYONE = 'everyone'

/** Notifies all open pages of a user at this node. */
export function publish(userId: string, topic: Topic): void {
  changes.emit(userId, topic)
}

/** Notifies the pages of the user in an event, and the pages of admins. */
export function publishAuthEvent(event: AuthEvent): void {
  if (!('userId' in event) || event.userId === null) return
  // A read must not cause another read.
  if (event.type.startsWith('admin.')) return
  publish(event.userId, topicOf(event.type))
  publish(EVERYONE, 'users')
}

function topicOf(type: AuthEvent['type']): Topic {
  if (type.startsWith('session.')) return 'sessions'
  return type.startsWith('organization:') ? 'organizations' : 'account'
}

/**
 * Yields the changes of a user until the signal aborts. Starts with `all`: changes may have been missed
 * before. Changes at other nodes aren't seen here, except the end of a session, which comes from the
 * database.
 */
export async function* changesOf(userId: string, signal: AbortSignal): AsyncGenerator<Topic> {
  const events = on(changes, userId, { signal })
  yield 'all'
  for await (const [topic] of events) yield topic
}

/** Yields the changes of all users. */
export const changesOfEveryone = (signal: AbortSignal): AsyncGenerator<Topic> => changesOf(EVERYONE, signal)
