import type { AuthErrorData, RequiredProof } from '@sallyport/core/internal/protocol'
import { type AuthClientError, toClientError } from '../client/auth-client-error.ts'
import { createStore, type Store } from '../client/client-session.ts'
import type { HookClient } from './current-session.ts'

/**
 * The input of `confirm` of `useSensitive`: the password, or a call that proves who the user is in another
 * way, such as `() => authClient.api.reauthenticateTotp({ code })`.
 */
export type ConfirmationInput = { readonly password: string } | (() => Promise<unknown>)

interface Prompt {
  readonly isAsking: boolean
  /** What the rejected call needs; null while nothing is asked, and if any recent proof is fine. */
  readonly required: RequiredProof | null
  readonly error: AuthClientError | null
}

export interface Confirmation extends Pick<Store<Prompt>, 'get' | 'subscribe'> {
  run<Result>(call: () => Promise<Result>): Promise<Result>
  confirm(input: ConfirmationInput): Promise<void>
  cancel(): void
}

const CLOSED: Prompt = { isAsking: false, required: null, error: null }

export function createConfirmation(client: HookClient): Confirmation {
  const { get, set, subscribe } = createStore(CLOSED)
  let confirmations = 0
  let prompted: Promise<boolean> | null = null
  let close = (_isConfirmed: boolean): void => {}

  const isSignedIn = (userChanges: number) => {
    const state = client.getState()
    return state.status === 'authenticated' && state.userChanges === userChanges
  }

  /** Resolves with whether the user confirms. The prompt closes when the user changes. */
  function prompt(userChanges: number): Promise<boolean> {
    return new Promise((resolve) => {
      const unsubscribe = client.subscribe(() => {
        if (!isSignedIn(userChanges)) close(false)
      })
      close = (isConfirmed) => {
        unsubscribe()
        prompted = null
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
      let isOwn = false
      while (true) {
        const before = confirmations
        try {
          return await call()
        } catch (error) {
          const failed: FailedCall = Object(error)
          const { reason = failed.code, required = null } = failed.data?.auth ?? failed
          if (isOwn || !/^(SESSION_NOT_FRESH|FACTOR_REQUIRED)$/.test(reason) || !isSignedIn(userChanges))
            throw error
          // If the user has confirmed since the call was sent, repeat it without a prompt. That proof, or the
          // one of a prompt for another call, may not be what this call needs. Then it still asks.
          if (confirmations === before) {
            if (!prompted) {
              isOwn = true
              prompted = prompt(userChanges)
              set({ isAsking: true, required, error: null })
            }
            if (!(await prompted)) throw error
          }
        }
      }
    },
    async confirm(input) {
      const current = prompted
      if (!current) return
      try {
        await (typeof input === 'function' ? input() : client.api.reauthenticate?.(input))
        if (current === prompted) {
          confirmations++
          close(true)
        }
      } catch (error) {
        if (current === prompted) set({ ...get(), error: toClientError(error) })
      }
    },
    cancel: () => close(false),
  }
}

/** An error of an auth endpoint, or of a procedure. */
interface FailedCall extends Partial<AuthErrorData> {
  readonly code: string
  readonly data?: { readonly auth?: Partial<AuthErrorData> | null } | null
}
