import type { AuthErrorData, Reason } from '@sallyport/core/protocol'
import type { AuthClientError } from '../client/auth-client-error.ts'
import { createStore, type Store } from '../client/store.ts'
import type { HookClient } from './hook-client.ts'

/** What proves the identity of the user. */
export interface ConfirmationInput {
  readonly password: string
}

interface Prompt {
  readonly isAsking: boolean
  /** Why the latest confirmation was rejected. */
  readonly error: AuthClientError | null
}

/** Asks the user to confirm, once for all calls that need it. */
export interface Confirmation extends Pick<Store<Prompt>, 'get' | 'subscribe'> {
  run<Result>(call: () => Promise<Result>): Promise<Result>
  confirm(input: ConfirmationInput): Promise<void>
  cancel(): void
}

const CLOSED: Prompt = { isAsking: false, error: null }

/** An open prompt. */
interface Pending {
  readonly isConfirmed: Promise<boolean>
  end(isConfirmed: boolean): void
}

/** Creates the confirmation of a client. */
export function createConfirmation(client: HookClient): Confirmation {
  const { get, set, subscribe } = createStore(CLOSED)
  let confirmations = 0
  let pending: Pending | null = null

  const isSignedIn = (userChanges: number) => {
    const state = client.getState()
    return state.status === 'authenticated' && state.userChanges === userChanges
  }

  function prompt(userChanges: number): Pending {
    let resolve = (_isConfirmed: boolean): void => {}
    const isConfirmed = new Promise<boolean>((settle) => {
      resolve = settle
    })
    const unsubscribe = client.subscribe(() => {
      if (!isSignedIn(userChanges)) pending?.end(false)
    })
    set({ isAsking: true, error: null })
    return {
      isConfirmed,
      end(isConfirmed) {
        unsubscribe()
        pending = null
        set(CLOSED)
        resolve(isConfirmed)
      },
    }
  }

  return {
    get,
    subscribe,
    async run(call) {
      const { userChanges } = client.getState()
      const before = confirmations
      try {
        return await call()
      } catch (error) {
        if (!isNotFresh(error) || !isSignedIn(userChanges)) throw error
        // If the user has confirmed since the call was sent, repeat it without a prompt.
        if (confirmations === before) {
          pending ??= prompt(userChanges)
          if (!(await pending.isConfirmed)) throw error
        }
        return call()
      }
    },
    async confirm(input) {
      const prompted = pending
      if (prompted === null) return
      const error = await client.api.reauthenticate?.(input).then(
        () => null,
        (error: AuthClientError) => error,
      )
      if (prompted !== pending) return
      if (error) return set({ isAsking: true, error })
      confirmations++
      prompted.end(true)
    },
    cancel: () => pending?.end(false),
  }
}

/** A procedure puts the reason into its error data, an auth endpoint into its code. */
function isNotFresh(error: unknown): boolean {
  const { code, data }: { code?: unknown; data?: { auth?: AuthErrorData | null } | null } = Object(error)
  const reason: Reason = 'SESSION_NOT_FRESH'
  return code === reason || data?.auth?.reason === reason
}
