import type { TestAuth } from '@sallyport/core/testing'
import { authLink, createAuthClient, webSocketLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import type { AppRouter } from '../../support/router.ts'

const { host } = new URL(location.href)
const api = `https://api.example.com:${host.split(':')[1]}`
const client = createAuthClient<TestAuth['api']>({ baseUrl: api })
const trpc = createTRPCClient<AppRouter>({
  links: [
    authLink(client),
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: webSocketLink(client, { url: `${api.replace('https', 'wss')}/trpc` }),
      false: httpBatchLink({ url: `${api}/trpc`, fetch: client.fetch, maxItems: 20 }),
    }),
  ],
})

export async function signIn(email: string, password: string): Promise<string> {
  const { userId } = await client.api.signInEmail({ email, password })
  return userId
}

/** Returns the user's id, or the reason of the rejection. */
export const me = (): Promise<string> =>
  trpc.me.query().catch((error) => error.data?.auth?.reason ?? `${error}`)

/** Returns the first value of a subscription over WebSocket. */
export const firstTick = (): Promise<string> =>
  new Promise((resolve, reject) => {
    trpc.clock.subscribe(undefined, { onData: resolve, onError: reject })
  })

export async function signOut(): Promise<string> {
  const { status } = await client.signOut()
  return status
}
