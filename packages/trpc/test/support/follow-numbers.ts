import type { AppClient } from './open-client.ts'

/** A subscription to the numbers of the stage, as the app sees it. */
export interface FollowedNumbers {
  readonly values: number[]
  /** The connection states, each with the reason or the message of its error. */
  readonly states: string[]
  /** `completed`, the reason of the error that it ended with, or null while it goes on. */
  ended(): string | null
  unsubscribe(): void
}

/** Subscribes to the numbers, until the client signs out at the end of the test. */
export function followNumbers(client: AppClient, signal?: AbortSignal): FollowedNumbers {
  const values: number[] = []
  const states: string[] = []
  let ended: string | null = null
  const subscription = client.numbers.subscribe(undefined, {
    ...(signal && { signal }),
    onData: ({ data }) => void values.push(data),
    onConnectionStateChange: ({ state, error }) =>
      void states.push(error ? `${state}: ${toText(error)}` : state),
    onError(error) {
      ended = toText(error)
    },
    onComplete() {
      ended = 'completed'
    },
  })
  return { values, states, ended: () => ended, unsubscribe: () => subscription.unsubscribe() }
}

interface ErrorLike {
  readonly data?: { readonly auth?: { readonly reason: string } | null } | null | undefined
  readonly message: string
}

function toText({ data, message }: ErrorLike): string {
  return data?.auth?.reason ?? message
}
