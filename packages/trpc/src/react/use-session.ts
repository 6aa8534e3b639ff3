import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import { useLayoutEffect, useSyncExternalStore } from 'react'
import type { AuthClientError } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { oncePerClient, useAuthContext } from './auth-provider.ts'
import { createCurrentSession, type HookClient } from './current-session.ts'

/** The response of `GET /session`, with the members that plugins add. */
type ResponseOf<Client extends HookClient> = Awaited<ReturnType<Client['api']['getSession']>>

export type UseSessionResult<Current extends CurrentSessionResponse = CurrentSessionResponse> = {
  /** The hook retries if that may help. */
  readonly error: AuthClientError | null
  /** Whether the hook has neither a response nor an error yet. False if no user is signed in. */
  readonly isPending: boolean
  /** Fetches again, such as after `updateUser`. Never rejects. */
  readonly refetch: () => Promise<void>
} & (
  | { readonly session: Current['session']; readonly user: Current['user'] }
  | { readonly session: null; readonly user: null }
)

const currentSessionOf = oncePerClient(createCurrentSession)

/**
 * Returns the session and user of `GET /session`, fetched once for all components while a user is signed in.
 *
 * @example const { user, isPending, error } = useSession<typeof authClient>()
 */
export function useSession<Client extends HookClient = HookClient>(): UseSessionResult<ResponseOf<Client>> {
  const { client, state } = useAuthContext()
  const { get, subscribe, load, reload } = currentSessionOf(client)
  const { userChanges, data, error, failures } = useSyncExternalStore(subscribe, get, get)
  const isLoaded = userChanges >= 0

  useLayoutEffect(() => {
    // While the token endpoint fails too, a failed request isn't repeated. That includes a ban.
    if (state.status !== 'authenticated' || (error ? state.error : isLoaded)) return
    if (!error) return load()
    const timer = setTimeout(load, backOff(failures, error.retryAfterSeconds))
    return () => clearTimeout(timer)
  }, [state, isLoaded, error, failures, load])

  return {
    // The app states the type of its server.
    ...(data as ResponseOf<Client>),
    error,
    isPending: !isLoaded && state.status !== 'unauthenticated',
    refetch: reload,
  }
}
