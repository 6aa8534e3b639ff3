import { ConfigurationError } from '@sallyport/core'
import type { AnyTRPCRouter, inferRouterContext } from '@trpc/server'
import { type AuthContext, createAuthContext, type StoreContext } from '../server/context.ts'
import { createHandler, type HandlerOptions } from '../server/create-handler.ts'
import { createServerAuth, type ServerAuthOptions } from '../ssr/create-server-auth.ts'
import type { ServerAuth } from '../ssr/server-auth.ts'
import { createActionContext, reportReason } from './action-context.ts'
import { createGetPage } from './create-get-page.ts'

/** The parts of a request that the context of the app can use. */
export interface NextContextOptions extends AuthContext {
  /** The headers of the request, with the browser's current cookies. */
  readonly headers: Headers
}

/** Options of {@link createNextAuth}, including tRPC's own. */
export interface NextAuthOptions<Router extends AnyTRPCRouter>
  extends Omit<HandlerOptions<Router>, 'createContext'>,
    Partial<Pick<ServerAuthOptions, 'token' | 'timeoutMs'>> {
  /** The path of tRPC. @default '/api/trpc' */
  readonly endpoint?: string
  /**
   * The header with the address of the connection, for rate limits. Set it only if your proxy or platform
   * overwrites it on every request. Next.js doesn't, and passes on a forged `x-forwarded-for`.
   */
  readonly addressHeader?: string
  /** Creates the context of all calls: by HTTP, by pages, and by Server Actions. Spread `options` into it. */
  createContext(options: NextContextOptions): Provided<Router> | Promise<Provided<Router>>
}

type Provided<Router extends AnyTRPCRouter> = inferRouterContext<Router> & StoreContext

/** The functions of {@link createNextAuth}. */
export interface NextAuth<Router extends AnyTRPCRouter>
  extends Readonly<Record<'GET' | 'POST' | 'OPTIONS', (request: Request) => Promise<Response>>> {
  /**
   * Returns the user of a page after both steps, once per request. Never rejects because of the user. Call it
   * outside of `use cache`.
   */
  readonly getPage: () => Promise<ServerAuth>
  /** Returns the context of a page for its user, for `createTRPCOptionsProxy` or `createCaller`. */
  readonly pageContext: () => Promise<inferRouterContext<Router>>
  /**
   * Calls procedures from Server Actions, with the same guards. It refreshes an expired JWT and sets its
   * cookie. Rejects as `createCaller` does; in the browser, `digest` of the error is the reason.
   */
  readonly actionCaller: ReturnType<Router['createCaller']>
}

const NO_ADDRESS =
  'createNextAuth: without addressHeader, all visitors share the rate limits of one address, and one of them can lock out the others. Set it to a header that your proxy or platform overwrites on every request, such as x-real-ip.'

/**
 * Creates the exports of a `route.ts`, and the functions that call the router from pages and Server Actions.
 * Without `addressHeader`, all visitors share the rate limits of one address. {@link createProxy} must run
 * before pages, because server components can't set cookies.
 *
 * @throws ConfigurationError if neither `auth` nor `token` is set
 * @example
 * export const { GET, OPTIONS, POST, actionCaller, getPage, pageContext } = createNextAuth({
 *   auth,
 *   config: authConfig,
 *   router: appRouter,
 *   createContext: (request) => ({ ...request, db: auth.db }),
 * })
 */
export function createNextAuth<Router extends AnyTRPCRouter>(
  options: NextAuthOptions<Router>,
): NextAuth<Router>
export function createNextAuth({
  endpoint = '/api/trpc',
  addressHeader,
  timeoutMs,
  createContext,
  ...options
}: NextAuthOptions<AnyTRPCRouter>): NextAuth<AnyTRPCRouter> {
  const { config, auth, router, token = auth?.handler } = options
  if (token === undefined) throw new ConfigurationError('createNextAuth: set auth, or token')
  const contexts = createAuthContext(config)
  const serverAuth = createServerAuth({ config, token, ...(timeoutMs !== undefined && { timeoutMs }) })
  const addressOf = (headers: Headers) =>
    (addressHeader === undefined ? null : headers.get(addressHeader)) ?? undefined

  const handler = createHandler({
    ...options,
    endpoint,
    createContext: (http) => createContext({ ...contexts.http(http), headers: http.req.headers }),
  })
  // Another server has the auth endpoints, and most limits, if there is no `auth`.
  let warns = auth !== undefined && addressHeader === undefined && process.env.NODE_ENV === 'production'
  const handle = (request: Request) => {
    if (warns) console.warn(NO_ADDRESS)
    warns = false
    return handler(request, { remoteAddress: addressOf(request.headers) })
  }

  const headerContext = (headers: Headers, method: 'GET' | 'POST') => {
    const remoteAddress = addressOf(headers)
    const address = remoteAddress === undefined ? {} : { remoteAddress }
    return Promise.resolve(createContext({ ...contexts.headers(headers, { method, ...address }), headers }))
  }
  const caller = { serverAuth, addressOf, headerContext }
  const actionContext = createActionContext(caller)
  return {
    GET: handle,
    POST: handle,
    OPTIONS: handle,
    ...createGetPage(caller),
    actionCaller: router.createCaller(actionContext, { onError: reportReason }),
  }
}
