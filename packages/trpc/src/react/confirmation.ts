import type { AuthErrorData, Reason } from '@sallyport/core/internal/protocol'
import { type AuthClientError, toClientError } from '../client/auth-client-error.ts'
import { createStore, type Store } from '../client/client-session.ts'
import type { HookClient } from './current-session.ts'

/** The input of `confirm` of `useSensitive`. */
export interface ConfirmationInput {
  readonly password: string
}

interface Prompt {
  readonly isAsking: boolean
  readonly error: AuthClientError | null
}

export interface Confirmation extends Pick<Store<Prompt>, 'get' | 'subscribe'> {
  run<Result>(call: () => Promise<Result>): Promise<Result>
  confirm(input: ConfirmationInput): Promise<void>
  cancel(): void
}

const CLOSED: Prompt = { isAsking: false, error: null }

export function createConfirmation(client: HookClient): Confirmation {
  const { get, set, subscribe } = createStore(CLOSED)
  let confirmations = 0
  let prompted: Promise<boolean> = Promise.resolve(false)
  let close: ((isConfirmed: boolean) => void) | null = null

  const isSignedIn = (userChanges: number) => {
    const state = client.getState()
    return state.status === 'authenticated' && state.userChanges === userChanges
  }

  function prompt(userChanges: number): Promise<boolean> {
    set({ isAsking: true, error: null })
    return new Promise((resolve) => {
      const unsubscribe = client.subscribe(() => {
        if (!isSignedIn(userChanges)) close?.(false)
      })
      close = (isConfirmed) => {
        unsubscribe()
        close = null
        set(CLOSED)
        resolve(isConfirmed)
      }
    })
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
          if (close === null) prompted = prompt(userChanges)
          if (!(await prompted)) throw error
        }
        return call()
      }
    },
    async confirm(input) {
      const current = close
      if (current === null) return
      const error = await client.api.reauthenticate?.(input).then(() => null, toClientError)
      if (current !== close) return
      if (error) return set({ isAsking: true, error })
      confirmations++
      current(true)
    },
    cancel: () => close?.(false),
  }
}

/** Checks the error data of a procedure and the code of an auth endpoint. */
function isNotFresh(error: unknown): boolean {
  const { code, data }: { code?: unknown; data?: { auth?: AuthErrorData | null } | null } = Object(error)
  const reason: Reason = 'SESSION_NOT_FRESH'
  return code === reason || data?.auth?.reason === reason
}
