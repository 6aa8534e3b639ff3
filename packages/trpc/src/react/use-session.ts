import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import { useEffect } from 'react'
import { type AuthClientError, isRefusal } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { useAuthContext } from './auth-context.ts'
import type { SessionAnswer } from './current-session.ts'
import type { HookClient } from './hook-client.ts'
import { useStore } from './use-store.ts'

/** What the server of a client answers to `GET /session`, with the members that plugins add. */
export type CurrentSessionOf<Client extends HookClient> = Awaited<ReturnType<Client['api']['getSession']>>

/** What {@link useSession} returns. */
export type UseSessionResult<Current extends CurrentSessionResponse = CurrentSessionResponse> = {
  /** Why the latest attempt failed. One that may succeed later is repeated. */
  readonly error: AuthClientError | null
  /** Whether there is neither an answer nor an error yet, unless certainly nobody is signed in. */
  readonly isPending: boolean
  /** Asks again, such as after `updateUser`. Never rejects. */
  readonly refetch: () => Promise<void>
} & (
  | { readonly session: Current['session']; readonly user: Current['user'] }
  | { readonly session: null; readonly user: null }
)

/**
 * The session and the user of `GET /session`, asked for once for all components, when someone is signed in.
 *
 * @example
 * const { user, isPending, error } = useSession<typeof authClient>()
 */
export function useSession<Client extends HookClient = HookClient>(): UseSessionResult<
  CurrentSessionOf<Client>
> {
  const { state, currentSession } = useAuthContext()
  const { load, reload } = currentSession
  const latest = useStore(currentSession)
  const answer = latest.userChanges === state.userChanges ? latest : null
  const isAuthenticated = state.status === 'authenticated'

  useEffect(() => {
    if (!isAuthenticated) return
    if (answer === null) return load()
    const delay = retryDelay(answer)
    if (delay === null) return
    const timer = setTimeout(load, delay)
    return () => clearTimeout(timer)
  }, [isAuthenticated, answer, load])

  // The type that the app has named is that of its server.
  const current = answer?.data as CurrentSessionOf<Client> | null | undefined
  return {
    ...(current ?? { session: null, user: null }),
    error: answer?.error ?? null,
    isPending: answer === null && state.status !== 'unauthenticated',
    refetch: reload,
  }
}

/** How long to wait before it is asked again, in milliseconds; null where there is an answer, or asking again would not change it. */
function retryDelay({ error, failures }: SessionAnswer): number | null {
  if (error === null || isRefusal(error)) return null
  return backOff(failures, error.retryAfterSeconds)
}
