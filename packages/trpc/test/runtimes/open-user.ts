import { TEST_PASSWORD, type TestAuth } from '@sallyport/core/testing'
import { authLink, createAuthClient, subscriptionLink, webSocketLink } from '@sallyport/trpc/client'
import { createTRPCUntypedClient, httpBatchLink, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { EventSource } from 'eventsource'
import { cookieFetch } from '../support/cookie-fetch.ts'

/** Where an app is served. */
export interface Hosts {
  /** The origin of the auth endpoints. */
  readonly origin: string
  /** The URL of tRPC. */
  readonly calls: string
  /** The URL of tRPC over WebSocket. Absent if the runtime has no server for it. */
  readonly sockets?: string | undefined
}

export type User = ReturnType<typeof openUser>

/**
 * Opens a separate browser with our client.
 *
 * @param cookie its cookies, as a `Cookie` header
 */
export function openUser({ origin, calls, sockets }: Hosts, cookie = '') {
  const jar = cookieFetch({ origin }, cookie)
  const authClient = createAuthClient<TestAuth['api']>({
    baseUrl: origin,
    isServer: false,
    fetch: jar.fetch,
  })
  const connect = (link: TRPCLink<AnyTRPCRouter>) =>
    createTRPCUntypedClient<AnyTRPCRouter>({ links: [authLink(authClient), link] })
  const headers = () => ({ origin, cookie: jar.header() })
  const socket = (url: string) => connect(webSocketLink(authClient, { url, headers }))
  const events = connect(subscriptionLink(authClient, { url: calls, EventSource }))
  const overSocket = sockets === undefined ? [] : [socket(sockets)]
  const overHttp = connect(httpBatchLink({ url: calls, fetch: authClient.fetch, maxItems: 20 }))

  return {
    jar,
    authClient,
    /** Clients that call procedures, one per transport. */
    callers: [overHttp, ...overSocket] as const,
    /** Clients that subscribe, one per transport. */
    subscribers: [events, ...overSocket] as const,
    signUp: (name: string) =>
      authClient.api.signUpEmail({ name, email: emailOf(name), password: TEST_PASSWORD }),
    signIn: (name: string) => authClient.api.signInEmail({ email: emailOf(name), password: TEST_PASSWORD }),
  }
}

export const emailOf = (name: string): string => `${name.toLowerCase()}@example.com`

/** Returns the reason of a rejection. */
export function reasonOf(error: unknown): string {
  const { data, code }: { data?: { auth?: { reason?: string } }; code?: string } = Object(error)
  return data?.auth?.reason ?? code ?? String(error)
}
