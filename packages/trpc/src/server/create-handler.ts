import { type AuthConfig, MAX_PAYLOAD_BYTES, withCors } from '@sallyport/core'
import type { Auth } from '@sallyport/core/auth'
import { AUTH_PATH } from '@sallyport/core/internal/protocol'
import { type AnyTRPCRouter, type inferRouterContext, TRPCError } from '@trpc/server'
import { type FetchCreateContextFnOptions, fetchRequestHandler } from '@trpc/server/adapters/fetch'
import type { HTTPBaseHandlerOptions } from '@trpc/server/http'
import { isDraining } from './drain.ts'
import { authResponseMeta } from './errors.ts'
import { addRoutes, type FastifyRoutes } from './fastify-plugin.ts'
import { limitBody } from './limit-body.ts'
import { authHandlerOptions } from './web-socket-options.ts'

/** Options of {@link createHandler}, including tRPC's own. */
export interface HandlerOptions<Router extends AnyTRPCRouter>
  extends HTTPBaseHandlerOptions<Router, Request> {
  readonly config: AuthConfig
  /** The result of `createAuth`. Without it, the handler serves tRPC alone. */
  readonly auth?: Pick<Auth, 'handler' | 'readiness'>
  /** The path of tRPC. @default '/trpc' */
  readonly endpoint?: string
  /** The maximum bytes of a body sent to tRPC. @default MAX_PAYLOAD_BYTES */
  readonly maxBodySize?: number
  /** Pass all options on to the context that `createAuthContext` returns. */
  createContext(
    options: HandlerContextOptions,
  ): inferRouterContext<Router> | Promise<inferRouterContext<Router>>
}

/** The options that {@link createHandler} passes to `createContext`. */
export interface HandlerContextOptions extends FetchCreateContextFnOptions {
  readonly remoteAddress: string | undefined
}

const DEFAULT_ENDPOINT = '/trpc'

interface Connection {
  readonly remoteAddress?: string | undefined
}

/** The result of {@link createHandler}. */
export interface Handler {
  /** Responds to a request. Rate limits use `remoteAddress`, the address of the connection. */
  (request: Request, connection?: Connection): Promise<Response>
  /**
   * A plugin of Fastify 5 with the same paths, without tRPC's if you register `fastifyTRPCPlugin`.
   * @example await app.register(respond.fastify, { trpc: false })
   */
  readonly fastify: (routes: FastifyRoutes, options?: { readonly trpc?: boolean }) => Promise<void>
}

/**
 * Creates a handler that serves the auth endpoints at `/api/auth`, tRPC, and `/healthz`. It responds to any
 * other path with 404. For tRPC, it adds CORS headers and the headers of `authResponseMeta`, and limits
 * batches and bodies.
 *
 * @example
 * const handle = createHandler({ auth, config: authConfig, router: appRouter, createContext: httpContext })
 * createServer(getRequestListener((request, { incoming }) => handle(request, incoming.socket)))
 */
export function createHandler<Router extends AnyTRPCRouter>(options: HandlerOptions<Router>): Handler {
  const { auth, config, endpoint = DEFAULT_ENDPOINT } = options
  const handle = async (request: Request, { remoteAddress }: Connection = {}): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(`${endpoint}/`))
      return withCors(request, config, () => respondToCall(request, remoteAddress, options))
    if (auth !== undefined && pathname.startsWith(`${AUTH_PATH}/`))
      return auth.handler(request, { remoteAddress })
    if (auth === undefined || pathname !== '/healthz') return new Response('Not found', { status: 404 })
    return respondReady(auth)
  }
  const fastify: Handler['fastify'] = async (routes, { trpc = true } = {}) => {
    const paths = auth === undefined ? [] : [`${AUTH_PATH}/*`, '/healthz']
    addRoutes(routes, trpc ? [...paths, `${endpoint}/*`] : paths, handle)
  }
  return Object.assign(handle, { fastify })
}

/** A server that stops isn't ready, but can still answer calls. */
async function respondReady(auth: Pick<Auth, 'readiness'>): Promise<Response> {
  const parts = isDraining(auth) ? { draining: true } : await auth.readiness()
  const ok = Object.values(parts).every((part) => part === 'ok')
  const headers = { 'cache-control': 'no-store' }
  return Response.json({ ok, ...parts }, { status: ok ? 200 : 503, headers })
}

/**
 * Returns the request with a limited body, or null if it's over the limit. Reads a body whose length isn't
 * announced, so it is rejected even if no procedure would read it.
 */
async function readUnannounced(request: Request, maxBytes = MAX_PAYLOAD_BYTES): Promise<Request | null> {
  // A body of TRACE isn't read, and its request can't be copied.
  const length = request.method === 'TRACE' ? null : request.headers.get('content-length')
  if (Number(length) > maxBytes) return null
  const limited = limitBody(request, maxBytes)
  if (limited.body === null || length !== null) return limited
  const { url, method, headers, signal } = limited
  try {
    return new Request(url, { method, headers, signal, body: await limited.arrayBuffer() })
  } catch (error) {
    if (error instanceof TRPCError) return null
    // The client has disconnected, which isn't an error of the app. tRPC fails to read the rest, too.
    if (signal.aborted) return limited
    throw error
  }
}

async function respondToCall<Router extends AnyTRPCRouter>(
  request: Request,
  remoteAddress: string | undefined,
  options: HandlerOptions<Router>,
): Promise<Response> {
  const limited = await readUnannounced(request, options.maxBodySize)
  return fetchRequestHandler({
    ...options,
    maxBatchSize: options.maxBatchSize ?? authHandlerOptions.maxBatchSize,
    endpoint: options.endpoint ?? DEFAULT_ENDPOINT,
    req: limited ?? withoutBody(request),
    createContext(context) {
      // tRPC responds with it before it reads the body.
      if (limited === null) throw new TRPCError({ code: 'PAYLOAD_TOO_LARGE' })
      return options.createContext({ ...context, remoteAddress })
    },
    responseMeta(response) {
      const meta = options.responseMeta?.(response)
      const headers = new Headers(toPairs(meta?.headers))
      // Ours last: a private response must not be cached.
      const { headers: own = new Headers() } = authResponseMeta(response)
      for (const [name, value] of own) if (name !== 'set-cookie') headers.set(name, value)
      const known = headers.getSetCookie()
      for (const cookie of own.getSetCookie())
        if (!known.includes(cookie)) headers.append('set-cookie', cookie)
      return { ...meta, headers }
    },
  })
}

/** As JSON, since tRPC would reject an unknown type of body first. */
function withoutBody({ url, method, headers: given }: Request): Request {
  const headers = new Headers(given)
  headers.set('content-type', 'application/json')
  return new Request(url, { method, headers })
}

function toPairs(headers: Headers | Partial<Record<string, string | string[]>> = {}): [string, string][] {
  if (headers instanceof Headers) return [...headers]
  return Object.entries(headers).flatMap(([name, value = []]) =>
    [value].flat().map((each): [string, string] => [name, each]),
  )
}
