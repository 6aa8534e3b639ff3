import { isReady, MAX_PAYLOAD_BYTES, sessionsOf, withCors } from '@sallyport/core'
import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { authConfig } from './auth.config.ts'
import { auth, database, httpContext } from './context.ts'
import { appRouter } from './router.ts'

/** Serves `/api/auth`, `/trpc`, and `/healthz`. Rate limits use the address of the connection. */
export async function respond(request: Request, remoteAddress: string | undefined): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname.startsWith('/api/auth/')) return auth.handler(request, { remoteAddress })
  if (pathname.startsWith('/trpc/')) {
    return withCors(request, authConfig, () =>
      fetchRequestHandler({
        endpoint: '/trpc',
        req: withLimit(request),
        router: appRouter,
        createContext: (options) => httpContext({ ...options, remoteAddress }),
        responseMeta: authResponseMeta,
        ...authHandlerOptions,
      }),
    )
  }
  if (pathname !== '/healthz') return new Response('Not found', { status: 404 })
  const ready = await isReady(authConfig, sessionsOf(database.db))
  return Response.json({ ok: ready }, { status: ready ? 200 : 503 })
}

/** Limits the body. tRPC's fetch adapter would read one of any size into memory. */
function withLimit(request: Request): Request {
  if (request.body === null) return request
  let size = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength
      if (size > MAX_PAYLOAD_BYTES) throw new TRPCError({ code: 'PAYLOAD_TOO_LARGE' })
      controller.enqueue(chunk)
    },
  })
  // Streams require `duplex`, which the DOM types lack.
  const init = { body: request.body.pipeThrough(counter), duplex: 'half' }
  return new Request(request, init)
}
