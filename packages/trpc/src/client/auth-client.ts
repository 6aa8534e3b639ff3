import { ENDPOINTS, type HydrationState, type Route } from '@sallyport/core/internal/protocol'
import { clientError } from './auth-client-error.ts'
import type { AuthState } from './auth-state.ts'
import { callOnBehalf } from './call-on-behalf.ts'
import { type ClientSession, clientSession } from './client-session.ts'
import { createClientSession } from './create-client-session.ts'
import { createEndpointFetch } from './fetch-endpoint.ts'
import { connectTabs } from './tabs.ts'
import { cookieTransport, type OpenTransport } from './transport.ts'

export interface AuthClientOptions {
  /** The URL of the app, such as `https://app.example.com`. @default '' (the origin of the page) */
  readonly baseUrl?: string
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch
  /** What the server rendered, from `@sallyport/trpc/ssr`: the client starts in this state without a request. */
  readonly hydrate?: HydrationState | undefined
  /** How credentials travel: `bearer(storage)` without cookies. @default cookies, which no script can read */
  readonly transport?: OpenTransport
}

/** The routes of endpoints that further plugins add, by their names. */
export type RoutesOf<Api> = {
  readonly [Name in Exclude<keyof Api, keyof typeof ENDPOINTS | 'createSession'>]: Route
}

/** Required if there are such endpoints. */
type RoutesOption<Api> = keyof RoutesOf<Api> extends never
  ? { readonly routes?: RoutesOf<Api> }
  : { readonly routes: RoutesOf<Api> }

/** The options that only the server has. */
type ServerOptions = 'request' | 'remoteAddress'

/** The endpoints of an auth server as calls over HTTP. No endpoint serves `createSession`. */
export type AuthClientApi<Api> = {
  readonly [Name in keyof Omit<Api, 'createSession'>]: ClientMethod<Api[Name]>
}

type ClientMethod<Method> = Method extends (options: infer Options) => Promise<infer Result>
  ? (...input: InputOf<Omit<Options, ServerOptions>>) => Promise<Omit<Result, 'headers'>>
  : never

/** An input without required members is optional. */
type InputOf<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

/** `fetch`, as tRPC's links require it: each option may be undefined. */
export type AuthFetch = (
  input: RequestInfo | URL,
  init?: { readonly [Option in keyof RequestInit]?: RequestInit[Option] | undefined },
) => Promise<Response>

/** The user of a browser or program, and the calls that change it. */
export interface AuthClient<Api = object> {
  /** The auth endpoints, such as `client.api.signInEmail({ email, password })`. Each throws `AuthClientError`. */
  readonly api: AuthClientApi<Api>
  /** Returns the current state: the same object until something changes. */
  getState(): AuthState
  /** Returns the state of the first render, on the server and in the browser: `hydrate`, or `loading`. */
  getServerState(): AuthState
  /**
   * Calls the listener at every change, until the returned function is called. While there are listeners, the
   * client refreshes the JWT ahead of time and follows the other tabs of the browser.
   */
  subscribe(listener: () => void): () => void
  /** Never rejects: read the returned state. */
  refresh(): Promise<AuthState>
  /**
   * Signs out: the status is `signing-out` until the server confirms it, then `unauthenticated`. During an outage
   * the client retries, and the state has the error. Never rejects: if the server rejects it, such as with
   * `COOKIE_CONFLICT`, the returned state has the error and the status from before.
   */
  signOut(): Promise<AuthState>
  /**
   * For tRPC's HTTP links, and for an `EventSource` that takes a `fetch`: adds the credentials. With bearer
   * transport it sends the JWT to any URL, so use it only for your own servers.
   */
  readonly fetch: AuthFetch
  /** @internal */
  readonly [clientSession]: ClientSession
}

/**
 * Creates the client of an auth server, for a browser or another program. Import only the type of the server's
 * `auth.api`. Create one per app. It is safe to create on a server: it does nothing before a listener or a call.
 *
 * @param options optional, unless further plugins need `routes`
 * @example
 * import type { auth } from './auth-server.ts'
 * export const authClient = createAuthClient<typeof auth.api>()
 * await authClient.api.signInEmail({ email, password })
 * authClient.getState().status // 'authenticated'
 */
export function createAuthClient<Api = object>(
  ...[options]: Record<never, never> extends RoutesOption<Api>
    ? [options?: AuthClientOptions & RoutesOption<Api>]
    : [options: AuthClientOptions & RoutesOption<Api>]
): AuthClient<Api> {
  const {
    routes,
    fetch = globalThis.fetch,
    hydrate,
    ...rest
  }: AuthClientOptions & {
    routes?: Readonly<Record<string, Route>>
  } = options ?? {}
  const baseUrl = rest.baseUrl?.replace(/\/$/, '') ?? ''
  const name = `sallyport ${baseUrl}`
  const transport = rest.transport?.(name) ?? cookieTransport
  const { tokens } = transport
  const fetchEndpoint = createEndpointFetch(baseUrl, { transport, fetch })
  const tabs = connectTabs(tokens ? `${name} bearer` : name)
  const session = createClientSession(hydrate, { fetchEndpoint, tokens, tabs })

  async function call(method: string, route: Route, input?: object): Promise<object> {
    if (method === 'signOut') {
      const { status, error } = await session.signOut()
      if (status === 'unauthenticated') return { success: true }
      throw error ?? clientError('USER_CHANGED')
    }
    const isQuery = route.method === 'GET' && method !== 'token'
    const { userChanges } = session.getState()
    const isAbandoned = () => session.getState().userChanges !== userChanges
    const attempt = () => {
      // It may have waited for a refresh or for another tab, so the cookies may be those of another user.
      if (isAbandoned() && !SIGNS_IN.test(route.path)) throw clientError('USER_CHANGED')
      return fetchEndpoint(route, { input, timeoutMs: 30_000 })
    }
    const response = await callOnBehalf(session, isQuery ? attempt : () => session.change(attempt))
    if (isQuery && isAbandoned()) throw clientError('USER_CHANGED')
    const mayHaveEnded = ENDS.test(method) && !('sessionId' in response)
    if (mayHaveEnded && session.getState().status === 'authenticated') await session.refresh()
    return response
  }

  const methods = Object.entries({ ...ENDPOINTS, ...routes }).map(([method, route]) => [
    method,
    (input?: object) => call(method, route, input),
  ])
  const rendered = session.getState()
  return {
    api: Object.fromEntries(methods),
    getState: session.getState,
    getServerState: () => rendered,
    subscribe: session.subscribe,
    refresh: session.refresh,
    signOut: session.signOut,
    fetch(input, init) {
      const headers = new Headers(init?.headers ?? (input as Partial<Request>).headers)
      for (const [header, value] of Object.entries(transport.headers())) headers.set(header, value)
      return fetch(input, { ...(init as RequestInit), headers, credentials: transport.credentials })
    },
    [clientSession]: session,
  }
}

/** Paths of endpoints for which the former user doesn't matter. */
const SIGNS_IN = /^\/sign-(in|up)/

/** Endpoints that may end the session of their caller, unless they respond with new tokens for it. */
const ENDS = /^(revokeSessions?|deleteUser|verifyEmail)$/
