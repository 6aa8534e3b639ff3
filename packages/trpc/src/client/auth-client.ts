import { ENDPOINTS, type HydrationState, type Route } from '@sallyport/core/protocol'
import { userChanged } from './auth-client-error.ts'
import type { AuthState } from './auth-state.ts'
import { reachEndpoints } from './call-endpoint.ts'
import { callOnBehalf } from './call-on-behalf.ts'
import { type ClientSession, clientSession } from './client-session.ts'
import { createClientSession } from './create-client-session.ts'
import { connectTabs } from './tabs.ts'
import { type CredentialTransport, cookieTransport, type OpenTransport } from './transport.ts'

/** What {@link createAuthClient} takes. */
export interface AuthClientOptions {
  /** Where the app is reached, such as `https://app.example.com`. @default '' (the page's own origin) */
  readonly baseUrl?: string
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch
  /** What the server rendered, from `@sallyport/trpc/ssr`: the page begins in this state and asks nobody. */
  readonly hydrate?: HydrationState | undefined
  /** How credentials travel: `bearer(storage)` where there are no cookies. @default cookies, which no script can read */
  readonly transport?: OpenTransport
}

/** The routes of endpoints that are not ours, by their names: those of further plugins. */
export type RoutesOf<Api> = {
  readonly [Name in Exclude<keyof Api, keyof typeof ENDPOINTS | 'createSession'>]: Route
}

/** Required where there are such endpoints. */
type RoutesOption<Api> = keyof RoutesOf<Api> extends never
  ? { readonly routes?: RoutesOf<Api> }
  : { readonly routes: RoutesOf<Api> }

/** The parts of an argument that only the server has. */
type ServerOptions = 'request' | 'remoteAddress'

/** The endpoints of an auth server as calls over HTTP. `createSession` is not one of them: no endpoint serves it. */
export type AuthClientApi<Api> = {
  readonly [Name in keyof Omit<Api, 'createSession'>]: ClientMethod<Api[Name]>
}

type ClientMethod<Method> = Method extends (options: infer Options) => Promise<infer Result>
  ? (...input: InputOf<Omit<Options, ServerOptions>>) => Promise<Omit<Result, 'headers'>>
  : never

/** An input without required members may be left out. */
type InputOf<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

/** `fetch`, as tRPC's links want it: each option may be undefined. */
export type AuthFetch = (
  input: RequestInfo | URL,
  init?: { readonly [Option in keyof RequestInit]?: RequestInit[Option] | undefined },
) => Promise<Response>

/** Who is signed in, and the calls that change it. */
export interface AuthClient<Api = object> {
  /** The auth endpoints, such as `client.api.signInEmail({ email, password })`. Each throws `AuthClientError`. */
  readonly api: AuthClientApi<Api>
  /** The state now. It is the same object until something changes. */
  getState(): AuthState
  /** The state of the first render, on the server and in the browser: what was given as `hydrate`, else `loading`. */
  getServerState(): AuthState
  /**
   * Calls the listener at every change, until the function that it returns is called. While anyone listens the JWT is refreshed ahead
   * of time, and the other tabs of the browser are heard.
   */
  subscribe(listener: () => void): () => void
  /** Asks the server now. It never rejects: the state that it returns says how it went. */
  refresh(): Promise<AuthState>
  /**
   * Signs out: `signing-out`, until the server has confirmed it, then `unauthenticated`. Where the server cannot be reached, or its
   * database is down, the state says why and it is tried again. It never rejects: where the server refuses, such as with
   * `COOKIE_CONFLICT`, the state that it returns is the one before, with the error.
   */
  signOut(): Promise<AuthState>
  /**
   * For tRPC's HTTP links and for an `EventSource` that takes one: sends what the server wants to see. With bearer transport that is the
   * JWT, to whatever URL it is given: those of your own servers.
   */
  readonly fetch: AuthFetch
  /** @internal */
  readonly [clientSession]: ClientSession
}

/**
 * The client of an auth server, for a browser or another program, typed by the server's `auth.api`, of which only the type is imported.
 * Make one for an app. It is safe to make on a server as well: nothing begins before someone listens or calls.
 *
 * @param options may be left out, except where `routes` of further plugins are needed
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
  const { routes, fetch = globalThis.fetch, hydrate, ...given }: AnyOptions = options ?? {}
  const baseUrl = given.baseUrl?.replace(/\/$/, '') ?? ''
  const name = `sallyport ${baseUrl}`
  const transport = given.transport?.(name) ?? cookieTransport
  const reach = (by: CredentialTransport) => reachEndpoints(baseUrl, by, fetch)
  const callEndpoint = reach(transport)
  const tabs = connectTabs(transport.tokens ? `${name} bearer` : name)
  const session = createClientSession({
    callEndpoint,
    reach,
    tokens: transport.tokens,
    tabs,
    rendered: hydrate,
  })

  async function call(method: string, route: Route, input?: object): Promise<object> {
    if (method === 'signOut') {
      const { status, error } = await session.signOut()
      if (status === 'unauthenticated') return { success: true }
      throw error ?? userChanged()
    }
    const isQuery = route.method === 'GET' && method !== 'token'
    const { userChanges } = session.getState()
    const isAbandoned = () => session.getState().userChanges !== userChanges
    const attempt = () => {
      // It may have waited for a refresh or for another tab, and the cookies be those of another user.
      if (isAbandoned() && !SIGNS_IN.test(route.path)) throw userChanged()
      return callEndpoint(route, input)
    }
    const answer = await callOnBehalf(session, isQuery ? attempt : () => session.change(attempt))
    if (isQuery && isAbandoned()) throw userChanged()
    // It may have been the own session that was ended.
    const mayHaveEnded = ENDS.test(method) && !('sessionId' in answer)
    if (mayHaveEnded && session.getState().status === 'authenticated') await session.refresh()
    return answer
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

/** Paths of endpoints for which it does not matter who was signed in. */
const SIGNS_IN = /^\/sign-(in|up)/

/** Endpoints that may end the session of their caller, unless they respond with new tokens for it. */
const ENDS = /^(revokeSessions?|deleteUser|verifyEmail)$/

interface AnyOptions extends AuthClientOptions {
  readonly routes?: Readonly<Record<string, Route>>
}
