import type { AuthErrorData, RequiredProof } from '@sallyport/core/internal/protocol'
import { type AuthClientError, toClientError } from '../client/auth-client-error.ts'
import { MAX_TIMER_MS, pause } from '../client/back-off.ts'
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
  /** Identifies the open prompt. */
  let prompt: object | null = null

  function close(): void {
    prompt = null
    set(CLOSED)
  }

  return {
    get,
    subscribe,
    async run(call) {
      const { userChanges } = client.getState()
      const isGone = () => {
        const state = client.getState()
        return state.status !== 'authenticated' || state.userChanges !== userChanges
      }
      let isOwn = false
      while (true) {
        const before = confirmations
        try {
          return await call()
        } catch (error) {
          const failed: FailedCall = Object(error)
          const { reason = failed.code, required = null } = failed.data?.auth ?? failed
          if (isOwn || isGone() || !/^(SESSION_NOT_FRESH|FACTOR_REQUIRED)$/.test(reason)) throw error
          // If the user has confirmed since the call was sent, repeat it without a prompt. That proof, or the
          // one of a prompt for another call, may not be what this call needs. Then it still asks.
          if (confirmations === before) {
            if (!prompt) {
              isOwn = true
              prompt = {}
              set({ isAsking: true, required, error: null })
            }
            const unfollow = client.subscribe(() => isGone() && close())
            while (prompt) await pause(MAX_TIMER_MS, subscribe)
            unfollow()
            if (confirmations === before) throw error
          }
        }
      }
    },
    async confirm(input) {
      const current = prompt
      if (!current) return
      try {
        await (typeof input === 'function' ? input() : client.api.reauthenticate?.(input))
        if (current === prompt) {
          confirmations++
          close()
        }
      } catch (error) {
        if (current === prompt) set({ ...get(), error: toClientError(error) })
      }
    },
    cancel: close,
  }
}

/** An error of an auth endpoint, or of a procedure. */
interface FailedCall extends Partial<AuthErrorData> {
  readonly code: string
  readonly data?: { readonly auth?: Partial<AuthErrorData> | null } | null
}
