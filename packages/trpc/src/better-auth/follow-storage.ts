import { follow, type Publish } from './follow.ts'
import type { KnownTokens } from './known-tokens.ts'

/** The part of a secondary storage that Better Auth changes sessions with. */
export interface WritableStorage {
  set(key: string, value: string, ttl?: number): unknown
  delete(key: string): unknown
}

/** The key of the time before which the sessions of a user were revoked. */
const REVOKED_BEFORE = 'revoked-sessions-before-'

/**
 * Publishes every write of Better Auth to a secondary storage that may end or weaken a session, until the
 * returned function is called. Methods that can't be replaced stay, and streams end with their lease.
 */
export function followStorage(
  storage: WritableStorage,
  { tokens, listener }: { tokens: KnownTokens; listener: Publish },
): () => void {
  return follow(storage, listener, (publish) => {
    function publishChange(key: string): void {
      const session = tokens.sessionOf(key)
      if (session !== undefined) publish(session)
      if (key.startsWith(REVOKED_BEFORE))
        publish({ sessionId: null, userId: key.slice(REVOKED_BEFORE.length) })
    }

    for (const name of ['set', 'delete'] as const) {
      const write: (...args: Parameters<WritableStorage['set']>) => unknown = storage[name]
      const replaced: typeof write = (...args) => {
        const publishKey = () => publishChange(String(args[0]))
        let result: unknown
        try {
          result = write.apply(storage, args)
        } catch (error) {
          publishKey()
          throw error
        }
        if (isPromise(result)) return Promise.resolve(result).finally(publishKey)
        publishKey()
        return result
      }
      Reflect.set(storage, name, replaced)
    }
  })
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof Object(value).then === 'function'
}
