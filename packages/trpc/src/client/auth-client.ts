import type { ENDPOINTS, Route } from '@sallyport/core/internal/protocol'
import { callEndpoints } from './call-endpoints.ts'
import { type ClientSession, clientSession } from './client-session.ts'
import { createClientSession } from './create-client-session.ts'
import { createEndpointFetch } from './fetch-endpoint.ts'
import { isOnServer } from './on-server.ts'
import type { AuthState } from './session-state.ts'
import type { RenderedState } from './session-store.ts'
import { connectTabs } from './tabs.ts'
import { cookieTransport, type OpenTransport } from './transport.ts'

export interface AuthClientOptions {
  /** The URL before `/api/auth`, such as `https://app.example.com`. @default '' (the origin of the page) */
  readonly baseUrl?: string
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch
  /**
   * The `state` of `@sallyport/trpc/ssr`. The client starts in it, without a request. A function is called at
   * the first use; on a server at each use, because the calls of a page may change its state.
   */
  readonly hydrate?: RenderedState
  /** Called after another user signed in, or this one signed out, and before any listener. */
  readonly onUserChange?: () => void
  /**
   * On a server, the headers of the page's request. The client sends their cookies only to URLs below
   * `baseUrl`. Never pass them as a prop to a client component: props are part of the page.
   */
  readonly headers?: Pick<Headers, 'get'> | undefined
  /**
   * On a server, the client never waits, refreshes, or sets timers. Calls without `headers` fail at once. Set
   * it to false in a program with a cookie jar. @default true without a `window`, a `location`, and a
   * `transport`
   */
  readonly isServer?: boolean
  /** `bearer(storage)` for programs without cookies. @default cookieTransport, which scripts can't read */
  readonly transport?: OpenTransport
}

/** The routes of endpoints of other plugins, by method name. */
export type RoutesOf<Api> = {
  readonly [Name in Exclude<keyof Api, keyof typeof ENDPOINTS | 'createSession'>]: Route
}

/** Requires `routes` if the server has such endpoints. */
type RoutesOption<Api> = keyof RoutesOf<Api> extends never
  ? { readonly routes?: RoutesOf<Api> }
  : { readonly routes: RoutesOf<Api> }

/** The endpoints of an auth server over HTTP. No endpoint serves `createSession`. */
export type AuthClientApi<Api> = {
  readonly [Name in keyof Omit<Api, 'createSession'>]: ClientMethod<
    Api[Name],
    Name extends 'signInOauth'
      ? unknown
      : Name extends `sign${'In' | 'Up' | 'Out'}${string}`
        ? RedirectOption
        : unknown
  >
}

interface RedirectOption {
  /** A page of this origin, which the browser then loads. Any other URL throws before the request. */
  readonly redirectTo?: string | undefined
}

type ClientMethod<Method, Option> = Method extends (options: infer Options) => Promise<infer Result>
  ? (
      ...input: InputOf<Omit<Options, 'request' | 'remoteAddress'> & Option>
    ) => Promise<Omit<Result, 'headers'>>
  : never

type InputOf<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

/** A `fetch` whose options may be undefined, as tRPC's links require. */
export type AuthFetch = (
  input: RequestInfo | URL,
  init?: { readonly [Option in keyof RequestInit]?: RequestInit[Option] | undefined },
) => Promise<Response>

/** The client of an auth server, as {@link createAuthClient} returns it. */
export interface AuthClient<Api = object> {
  /** The auth endpoints as methods. Each throws `AuthClientError`. */
  readonly api: AuthClientApi<Api>
  /** Returns the current state: the same object until something changes. */
  readonly getState: () => AuthState
  /** Returns the state of the first render: `hydrate`, or `loading`. */
  readonly getServerState: () => AuthState
  /**
   * Calls the listener after each change, until the returned function is called. With listeners, the client
   * refreshes the JWT ahead of time and follows the other tabs.
   */
  readonly subscribe: (listener: () => void) => () => void
  /** Fetches a new JWT. Never rejects: read the returned state. */
  readonly refresh: () => Promise<AuthState>
  /** Signs out, with retries during an outage. Never rejects: read `error` of the returned state. */
  readonly signOut: () => Promise<AuthState>
  /** Fetches with the credentials. Bearer transport sends the JWT to any URL: call only your own servers. */
  readonly fetch: AuthFetch
  /** @internal */
  readonly [clientSession]: ClientSession
}

/**
 * Creates the client of an auth server, for a browser or another program. Create one per app. It does nothing
 * before the first listener or call, so you can import it on a server.
 *
 * @param options required only if other plugins need `routes`
 * @example
 * import type { auth } from './auth-server.ts'
 * export const authClient = createAuthClient<typeof auth.api>()
 * await authClient.api.signInEmail({ email, password })
 * authClient.getState().status // 'authenticated'
 */
export function createAuthClient<Api = object>(
  ...[options]: InputOf<AuthClientOptions & RoutesOption<Api>>
): AuthClient<Api> {
  const {
    baseUrl: url = '',
    fetch = globalThis.fetch,
    headers: page,
    hydrate,
    onUserChange,
    transport: open,
    isServer = !open && isOnServer(),
  }: AuthClientOptions = options ?? {}
  const baseUrl = url.replace(/\/$/, '')
  const cookie = !open && baseUrl && page?.get('cookie')
  // Tabs of one origin may name it differently.
  const name = `sallyport ${baseUrl || globalThis.origin}`
  const transport = open?.(name) ?? cookieTransport(cookie)
  const client = createClientSession(hydrate, {
    send: createEndpointFetch(baseUrl, { transport, fetch }),
    tokens: transport.tokens,
    tabs: connectTabs(transport.tokens?.name ?? name),
    server: isServer && { headers: page },
    onUserChange,
  })
  return {
    ...client,
    api: callEndpoints(client[clientSession], options?.routes),
    async fetch(input, init) {
      const { url: target = String(input), headers: own } = input as Partial<Request>
      const getsCookie = Boolean(cookie) && target.startsWith(`${baseUrl}/`)
      const headers = Object.fromEntries(new Headers(init?.headers ?? own))
      return fetch(input, {
        ...(init as RequestInit),
        headers: { ...headers, ...transport.headers(getsCookie) },
        credentials: transport.credentials,
        ...(getsCookie && { redirect: 'manual' }),
      })
    },
  }
}
