import { type AuthConfig, isReady, withCors } from '@sallyport/core'
import type { Auth } from '@sallyport/core/auth'
import { AUTH_PATH } from '@sallyport/core/internal/protocol'
import type { AnyTRPCRouter, inferRouterContext } from '@trpc/server'
import { type FetchCreateContextFnOptions, fetchRequestHandler } from '@trpc/server/adapters/fetch'
import type { HTTPBaseHandlerOptions } from '@trpc/server/http'
import { authResponseMeta } from './errors.ts'
import { limitBody } from './limit-body.ts'
import { authHandlerOptions } from './web-socket-options.ts'

/** Options of {@link createHandler}, including tRPC's own. */
export interface HandlerOptions<Router extends AnyTRPCRouter>
  extends HTTPBaseHandlerOptions<Router, Request> {
  readonly config: AuthConfig
  /** The result of `createAuth`. Without it, the handler serves tRPC alone. */
  readonly auth?: Pick<Auth, 'handler' | 'database'>
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

/** Responds to a request. Rate limits use `remoteAddress`, the address of the connection. */
export type Handler = (
  request: Request,
  connection?: { readonly remoteAddress?: string | undefined },
) => Promise<Response>

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
  const { auth, config, endpoint = '/trpc', maxBodySize } = options
  const handleCall = callHandler(options, endpoint)
  return async (request, { remoteAddress } = {}) => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(`${endpoint}/`))
      return withCors(request, config, () => handleCall(limitBody(request, maxBodySize), remoteAddress))
    if (auth !== undefined && pathname.startsWith(`${AUTH_PATH}/`))
      return auth.handler(request, { remoteAddress })
    if (auth === undefined || pathname !== '/healthz') return new Response('Not found', { status: 404 })
    const ready = await isReady(config, {
      // Read on each request, and inside the check.
      findSession: (identity) => auth.database.sessions.findSession(identity),
    })
    return Response.json({ ok: ready }, { status: ready ? 200 : 503 })
  }
}

function callHandler<Router extends AnyTRPCRouter>(
  options: HandlerOptions<Router>,
  endpoint: string,
): (req: Request, remoteAddress: string | undefined) => Promise<Response> {
  return (req, remoteAddress) =>
    fetchRequestHandler({
      ...authHandlerOptions,
      ...options,
      endpoint,
      req,
      createContext: (context) => options.createContext({ ...context, remoteAddress }),
      responseMeta(response) {
        const meta = options.responseMeta?.(response)
        const headers = new Headers(toPairs(meta?.headers))
        // Ours last: a private response must not be cached.
        for (const [name, value] of authResponseMeta(response).headers ?? []) headers.set(name, value)
        return { ...meta, headers }
      },
    })
}

function toPairs(headers: Headers | Partial<Record<string, string | string[]>> = {}): [string, string][] {
  if (headers instanceof Headers) return [...headers]
  return Object.entries(headers).flatMap(([name, value = []]) =>
    [value].flat().map((each): [string, string] => [name, each]),
  )
}
