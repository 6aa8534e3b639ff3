import { AuthError, type AuthStore, type StoredSession } from '@sallyport/core'
import { isObject } from './call/envelope.ts'
import type { Runner } from './runner/runner.ts'

/** One store per runner, so streams of one session share its reads. */
const stores = new WeakMap<Runner, AuthStore>()

/** Returns a store that reads sessions and consumes rate limits through internal functions. */
export function httpStore(runner: Runner): AuthStore {
  const known = stores.get(runner)
  if (known !== undefined) return known
  const store: AuthStore = {
    sessions: {
      async findSession({ sessionId, userId }) {
        const input = { sessionId, userId }
        // Without an actor: Step 2 runs in this process, with the reasons of the direct adapter.
        const path = 'sallyport.findSession'
        const session = await runner.run({ type: 'query', path, input, actor: null })
        return session === null ? null : fromSessionJson(session)
      },
    },
    // This process gets no revocations. Streams read the session again before their lease ends.
    revocations: { revision: 0, subscribe: () => () => {}, publish() {} },
    limits: {
      async consume(key, limit) {
        const input = { key, limit }
        const path = 'sallyport.consumeLimit'
        const seconds = await runner.run({ type: 'mutation', path, input, actor: null })
        if (seconds === null || typeof seconds === 'number') return seconds
        // Fail closed: an unreadable response must not allow an attempt.
        throw new AuthError('SESSIONS_UNAVAILABLE', { cause: new TypeError('Not a rate limit response') })
      },
    },
  }
  stores.set(runner, store)
  return store
}

/** A session in JSON. Dates are ISO 8601 text, and an invalid date is empty. */
export type SessionJson = Omit<StoredSession, 'expiresAt' | 'ban'> & {
  readonly expiresAt: string
  readonly ban: { readonly until: string | null } | null
}

/**
 * Parses a session from another process. `validateSession` rejects one of another session or user.
 *
 * @throws TypeError if it doesn't have the shape of a session
 */
export function fromSessionJson(json: unknown): StoredSession {
  if (!isSessionJson(json)) throw new TypeError('Not a session')
  const { expiresAt, ban } = json
  const until = ban === null || ban.until === null ? null : new Date(ban.until)
  return { ...json, expiresAt: new Date(expiresAt), ban: ban && { until } }
}

function isSessionJson(json: unknown): json is SessionJson {
  if (!isObject(json) || typeof json.expiresAt !== 'string' || !isObject(json.user)) return false
  if (json.ban === null) return true
  return isObject(json.ban) && (json.ban.until === null || typeof json.ban.until === 'string')
}
