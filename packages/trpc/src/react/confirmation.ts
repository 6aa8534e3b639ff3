import type { AuthErrorData, Reason } from '@sallyport/core/internal/protocol'
import type { AuthClientError } from '../client/auth-client-error.ts'
import { createStore, type Store } from '../client/store.ts'
import type { HookClient } from './hook-client.ts'

/** What proves that it is still the user. */
export interface ConfirmationInput {
  readonly password: string
}

/** Whether the user is being asked for a proof. */
export interface Asking {
  readonly isAsking: boolean
  /** Why the latest proof was refused. */
  readonly error: AuthClientError | null
}

/** Asks the user of a client for a proof, once for all calls that want one. */
export interface Confirmation extends Pick<Store<Asking>, 'get' | 'subscribe'> {
  run<Result>(call: () => Promise<Result>): Promise<Result>
  confirm(input: ConfirmationInput): Promise<void>
  cancel(): void
}

const NOT_ASKING: Asking = { isAsking: false, error: null }

/** One time of asking, for all calls that came meanwhile. */
interface Question {
  readonly isConfirmed: Promise<boolean>
  end(isConfirmed: boolean): void
}

/** The confirmation of a client. */
export function createConfirmation(client: HookClient): Confirmation {
  const { get, set, subscribe } = createStore(NOT_ASKING)
  let confirmations = 0
  let question: Question | null = null

  const isStillIn = (userChanges: number) => {
    const state = client.getState()
    return state.status === 'authenticated' && state.userChanges === userChanges
  }

  function ask(userChanges: number): Question {
    let resolve = (_isConfirmed: boolean): void => {}
    const isConfirmed = new Promise<boolean>((settle) => {
      resolve = settle
    })
    const unsubscribe = client.subscribe(() => {
      if (!isStillIn(userChanges)) question?.end(false)
    })
    set({ isAsking: true, error: null })
    return {
      isConfirmed,
      end(isConfirmed) {
        unsubscribe()
        question = null
        set(NOT_ASKING)
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
        if (!isNotFresh(error) || !isStillIn(userChanges)) throw error
        // Whoever has confirmed since the call was sent is not asked again for it.
        if (confirmations === before) {
          question ??= ask(userChanges)
          if (!(await question.isConfirmed)) throw error
        }
        return call()
      }
    },
    async confirm(input) {
      const asked = question
      if (asked === null) return
      const refusal = await client.api.reauthenticate?.(input).then(
        () => null,
        (error: AuthClientError) => error,
      )
      if (asked !== question) return
      if (refusal) return set({ isAsking: true, error: refusal })
      confirmations++
      asked.end(true)
    },
    cancel: () => question?.end(false),
  }
}

/** A refusal of a procedure says so in its data, one of an auth endpoint by its code. */
function isNotFresh(error: unknown): boolean {
  const { code, data }: { code?: unknown; data?: { auth?: AuthErrorData | null } | null } = Object(error)
  const reason: Reason = 'SESSION_NOT_FRESH'
  return code === reason || data?.auth?.reason === reason
}
