import { follow, type Publish, replaceMethod } from './follow.ts'
import type { KnownTokens } from './known-tokens.ts'

/** The methods of a secondary storage that Better Auth changes sessions with. */
export interface WritableStorage {
  set(key: string, value: string, ttl?: number): unknown
  delete(key: string): unknown
}

/** The start of a key. Its value is a time: the user's sessions from before it are revoked. */
const REVOKED_BEFORE = 'revoked-sessions-before-'

/**
 * Publishes every write of Better Auth to a secondary storage that may end or weaken a session. If a method
 * can't be replaced, streams end with their lease. The returned function stops publishing.
 */
export function followStorage(
  storage: WritableStorage,
  { tokens, listener }: { tokens: KnownTokens; listener: Publish },
): () => void {
  return follow(storage, listener, (publish) => {
    function publishKey(key: string): void {
      const session = tokens.sessionOf(key)
      if (session !== undefined) publish(session)
      if (key.startsWith(REVOKED_BEFORE))
        publish({ sessionId: null, userId: key.slice(REVOKED_BEFORE.length) })
    }

    for (const name of ['set', 'delete'] as const) followWrites(storage, name, publishKey)
  })
}

/** Calls `publishKey` after each write, also if it failed. */
function followWrites(
  storage: WritableStorage,
  name: 'set' | 'delete',
  publishKey: (key: string) => void,
): void {
  const write: (...args: Parameters<WritableStorage['set']>) => unknown = storage[name]
  const replaced: typeof write = (...args) => {
    const publish = () => publishKey(String(args[0]))
    let result: unknown
    try {
      result = write.apply(storage, args)
    } catch (error) {
      publish()
      throw error
    }
    if (isPromise(result)) return Promise.resolve(result).finally(publish)
    publish()
    return result
  }
  replaceMethod(storage, name, replaced)
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof Object(value).then === 'function'
}
