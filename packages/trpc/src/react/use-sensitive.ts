import type { RequiredProof } from '@sallyport/core/internal/protocol'
import { useSyncExternalStore } from 'react'
import type { AuthClientError } from '../client/auth-client-error.ts'
import { oncePerClient, useAuthContext } from './auth-provider.ts'
import { type ConfirmationInput, createConfirmation } from './confirmation.ts'

export interface UseSensitiveResult {
  /**
   * Repeats a call after `SESSION_NOT_FRESH` or `FACTOR_REQUIRED` once the user confirms. Rejects if they
   * cancel or sign out.
   */
  readonly run: <Result>(call: () => Promise<Result>) => Promise<Result>
  readonly isAsking: boolean
  /** Which proof the procedure requires, such as `{ factor: 'totp', … }`: show the dialog for it. */
  readonly required: RequiredProof | null
  /**
   * Sends the password, or makes the given call. Never rejects: if that fails, the waiting call continues to
   * wait, and `error` says why.
   */
  readonly confirm: (input: ConfirmationInput) => Promise<void>
  readonly cancel: () => void
  readonly error: AuthClientError | null
}

const confirmationOf = oncePerClient(createConfirmation)

/**
 * Makes calls that require a recent confirmation of the user's identity. Show one dialog while `isAsking`.
 *
 * @example
 * const { run } = useSensitive()
 * const rotate = () => run(() => client.account.rotate.mutate())
 */
export function useSensitive(): UseSensitiveResult {
  const { client } = useAuthContext()
  const { get, subscribe, ...methods } = confirmationOf(client)
  return { ...useSyncExternalStore(subscribe, get, get), ...methods }
}
