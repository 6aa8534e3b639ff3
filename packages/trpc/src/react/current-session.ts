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
  /** `userChanges` of the request. Ignore the result after another change. */
  readonly userChanges: number
  /** Kept when a later attempt fails. */
  readonly data: CurrentSessionResponse | null
  readonly error: AuthClientError | null
  readonly failures: number
}

export interface CurrentSession extends Pick<Store<SessionResult>, 'get' | 'subscribe'> {
  /** Fetches, unless a request is in flight. */
  load(): void
  /** Only the response to the latest request is used. */
  reload(): Promise<void>
}

const NO_RESULT: SessionResult = { userChanges: -1, failures: 0, data: null, error: null }

/** Fetches `GET /session` once for all components. Sends no request before the first `load`. */
export function createCurrentSession(client: HookClient): CurrentSession {
  const { get, set, subscribe } = createStore(NO_RESULT)
  let requests = 0
  /** `userChanges` of the request in flight. */
  let loadingFor = -1

  async function reload(): Promise<void> {
    const { userChanges } = client.getState()
    const own = ++requests
    loadingFor = userChanges
    const result = await client.api.getSession().then(
      (data) => ({ ...NO_RESULT, data }),
      (error: AuthClientError) => {
        const before = get().userChanges === userChanges ? get() : NO_RESULT
        return { ...before, error, failures: before.failures + 1 }
      },
    )
    if (own !== requests) return
    loadingFor = -1
    if (userChanges === client.getState().userChanges) set({ ...result, userChanges })
  }

  return {
    get,
    subscribe,
    reload,
    load() {
      if (loadingFor !== client.getState().userChanges) void reload()
    },
  }
}
