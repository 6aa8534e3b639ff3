import { AuthError, type AuthStore, type RevocationFeed } from '@sallyport/core'
import { CONSUME_LIMIT, FIND_SESSION } from './call/reserved-functions.ts'
import { fromSessionJson } from './call/session-json.ts'
import type { Runner } from './runner/runner.ts'

/** One for each way to a database, so that streams of one session share its reads. */
const stores = new WeakMap<Runner, AuthStore>()

/** What the two steps need, where the database is reached by internal functions. */
export function httpStore(runner: Runner): AuthStore {
  const store = stores.get(runner) ?? createStore(runner)
  stores.set(runner, store)
  return store
}

function createStore(runner: Runner): AuthStore {
  return {
    sessions: {
      async findSession({ sessionId, userId }) {
        const input = { sessionId, userId }
        // On nobody's behalf: whoever asks judges the answer, with the reasons of the direct adapter.
        const session = await runner.run({ type: 'query', path: FIND_SESSION, input, actor: null })
        return session === null ? null : fromSessionJson(session)
      },
    },
    revocations: SILENT,
    limits: {
      async consume(key, limit) {
        const input = { key, limit }
        const seconds = await runner.run({ type: 'mutation', path: CONSUME_LIMIT, input, actor: null })
        if (seconds === null || typeof seconds === 'number') return seconds
        // What nobody can read must not count as an attempt that is allowed.
        throw new AuthError('SESSIONS_UNAVAILABLE', { cause: new TypeError('Not an answer of a rate limit') })
      },
    },
  }
}

/** Nobody tells a process without a database: what rests on a session there asks again before its lease ends. */
const SILENT: RevocationFeed = { revision: 0, subscribe: () => () => {}, publish() {} }
