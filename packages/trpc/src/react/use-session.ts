import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { type AuthClientError, isRejection } from '../client/auth-client-error.ts'
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
  const latest = useSyncExternalStore(subscribe, get, get)
  const result = latest.userChanges === state.userChanges ? latest : null
  const isAuthenticated = state.status === 'authenticated'
  const isFailing = state.error !== null
  const wasFailing = useRef(false)

  useEffect(() => {
    const hasRecovered = wasFailing.current && !isFailing
    wasFailing.current = isFailing
    if (!isAuthenticated) return
    if (!result) return load()
    const { error, failures } = result
    if (!error) return
    // Such as when a ban was lifted. Without a recovery, the server would reject it again.
    if (isRejection(error)) {
      if (hasRecovered) load()
      return
    }
    const timer = setTimeout(load, backOff(failures, error.retryAfterSeconds))
    return () => clearTimeout(timer)
  }, [isAuthenticated, isFailing, result, load])

  // The app states the type of its server.
  const current = result?.data as ResponseOf<Client> | null | undefined
  return {
    ...(current ?? { session: null, user: null }),
    error: result?.error ?? null,
    isPending: result === null && state.status !== 'unauthenticated',
    refetch: reload,
  }
}
