import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import type { AuthClient } from '../client/auth-client.ts'
import type { AuthClientError } from '../client/auth-client-error.ts'
import { createStore, type Store } from '../client/client-session.ts'

/** The part of an auth client that the hooks use. Any client from `createAuthClient` has it. */
export interface HookClient
  extends Pick<AuthClient, 'getState' | 'getServerState' | 'subscribe' | 'refresh' | 'signOut'> {
  readonly api: {
    getSession(): Promise<CurrentSessionResponse>
    /** From the plugin `emailPassword()`. */
    reauthenticate?(input: { password: string }): Promise<unknown>
  }
}

interface SessionResult {
  /** `userChanges` of the request. */
  readonly userChanges: number
  /** Kept when a later attempt fails. */
  readonly data: CurrentSessionResponse | { readonly session: null; readonly user: null }
  readonly error: AuthClientError | null
  readonly failures: number
}

export interface CurrentSession extends Pick<Store<SessionResult>, 'get' | 'subscribe'> {
  /** Fetches, unless a request is in flight. */
  load(): void
  /** Only the response to the latest request is used. */
  reload(): Promise<void>
}

const NO_RESULT: SessionResult = {
  userChanges: -1,
  data: { session: null, user: null },
  error: null,
  failures: 0,
}

/** Fetches `GET /session` once for all components. Sends no request before the first `load`. */
export function createCurrentSession(client: HookClient): CurrentSession {
  const { get: getLatest, set, subscribe } = createStore(NO_RESULT)
  /** The request in flight. */
  let request: { readonly userChanges: number } | null = null

  /** Returns the result for the current user. */
  function get(): SessionResult {
    const latest = getLatest()
    return latest.userChanges === client.getState().userChanges ? latest : NO_RESULT
  }

  async function reload(): Promise<void> {
    const { userChanges } = client.getState()
    const own = { userChanges }
    request = own
    const result = await client.api.getSession().then(
      (data) => ({ ...NO_RESULT, data }),
      (error: AuthClientError) => ({ ...get(), error, failures: get().failures + 1 }),
    )
    if (own !== request) return
    request = null
    set({ ...result, userChanges })
  }

  return {
    get,
    subscribe,
    reload,
    load() {
      if (request?.userChanges !== client.getState().userChanges) void reload()
    },
  }
}
