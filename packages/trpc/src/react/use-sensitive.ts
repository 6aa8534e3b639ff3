import type { AuthClientError } from '../client/auth-client-error.ts'
import { useAuthContext } from './auth-context.ts'
import type { ConfirmationInput } from './confirmation.ts'
import { useStore } from './use-store.ts'

/** What {@link useSensitive} returns. */
export interface UseSensitiveResult {
  /**
   * Makes a call, and repeats it once after the user has confirmed, where it is refused with `SESSION_NOT_FRESH`.
   * Rejects with that refusal when the user cancels, or is signed out meanwhile.
   */
  readonly run: <Result>(call: () => Promise<Result>) => Promise<Result>
  /** Whether a call waits for the user. */
  readonly isAsking: boolean
  /** Sends the password. Never rejects: where it is refused, the call goes on waiting and `error` says why. */
  readonly confirm: (input: ConfirmationInput) => Promise<void>
  /** Gives up. */
  readonly cancel: () => void
  readonly error: AuthClientError | null
}

/**
 * Calls for which the user must have proved a moment ago who they are. What it returns is the same in all components: one dialog anywhere
 * in the app serves the calls of all.
 *
 * @example
 * const { run } = useSensitive()
 * const rotate = () => run(() => client.account.rotate.mutate())
 */
export function useSensitive(): UseSensitiveResult {
  const { confirmation } = useAuthContext()
  const { run, confirm, cancel } = confirmation
  return { ...useStore(confirmation), run, confirm, cancel }
}
