import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import type { AuthClientError } from '../client/auth-client-error.ts'
import { createStore, type Store } from '../client/store.ts'
import type { HookClient } from './hook-client.ts'

/** The latest answer of `GET /session`. */
export interface SessionAnswer {
  /** `userChanges` when it was asked. After another change it doesn't count. */
  readonly userChanges: number
  /** Kept when a later attempt fails. */
  readonly data: CurrentSessionResponse | null
  /** Why the latest attempt failed; null when it did not. */
  readonly error: AuthClientError | null
  /** Attempts that have failed in a row. */
  readonly failures: number
}

/** The session and the user of a client, asked for once however many components want them. */
export interface CurrentSession extends Pick<Store<SessionAnswer>, 'get' | 'subscribe'> {
  /** Asks, unless it is being asked already. */
  load(): void
  /** Asks again: of several answers the one to the latest question counts. */
  reload(): Promise<void>
}

const NOTHING: SessionAnswer = { userChanges: -1, data: null, error: null, failures: 0 }

/** The current session of a client. Nothing is asked before the first `load`. */
export function createCurrentSession(client: HookClient): CurrentSession {
  const { get, set, subscribe } = createStore(NOTHING)
  let question = 0
  let askedIn = -1

  async function reload(): Promise<void> {
    const { userChanges } = client.getState()
    const own = ++question
    askedIn = userChanges
    const answer = await client.api.getSession().then(
      (data) => ({ ...NOTHING, data }),
      (error: AuthClientError) => {
        const before = get().userChanges === userChanges ? get() : NOTHING
        return { ...before, error, failures: before.failures + 1 }
      },
    )
    if (own !== question) return
    askedIn = -1
    if (userChanges === client.getState().userChanges) set({ ...answer, userChanges })
  }

  return {
    get,
    subscribe,
    reload,
    load() {
      if (askedIn !== client.getState().userChanges) void reload()
    },
  }
}
