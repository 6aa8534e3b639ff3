import type { AppClient } from './open-client.ts'

/** A subscription to the stage's numbers, as the app sees it. */
export interface FollowedNumbers {
  readonly values: number[]
  /** The connection states, each with its error's reason or message. */
  readonly states: string[]
  /** Returns `completed`, the reason of the final error, or null while it is open. */
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
