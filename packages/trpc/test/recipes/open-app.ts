import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { AuthConfig } from '@sallyport/core'
import {
  authErrorData,
  authHandlerOptions,
  createAuthContext,
  type DatabaseContext,
  type HttpContextOptions,
  sensitiveSessionMiddleware,
  sessionMiddleware,
  type WsContextOptions,
  webSocketOptions,
} from '@sallyport/trpc'
import { createTRPCClient, createWSClient, httpLink, wsLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import { socketWith } from '../support/connect.ts'
import { type Outcome, outcomeOf } from '../support/outcome.ts'
import { openStream, type Stream } from '../support/stream.ts'

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const appRouter = t.router({
  me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.session),
  pay: t.procedure
    .use(sensitiveSessionMiddleware)
    .mutation(({ ctx }) => ctx.transaction(async () => ctx.user.id)),
  ticks: t.procedure.use(sessionMiddleware).subscription(async function* ({ ctx }) {
    for (let tick = 1; !ctx.auth.signal.aborted; tick++) {
      yield tick
      await new Promise((resolve) => ctx.auth.signal.addEventListener('abort', resolve, { once: true }))
    }
  }),
})

/** Calls of one user. */
export interface Caller {
  me(): Promise<Outcome>
  pay(): Promise<Outcome>
  /** Calls `me` over one WebSocket, which is authenticated when it opens. */
  meOverSocket(): Promise<Outcome>
  /** Subscribes over that WebSocket. */
  ticks(): Stream
}

/** What a caller sends. A bearer token is a connection parameter of WebSockets. */
export interface Sent {
  readonly headers?: Record<string, string>
  readonly token?: string
}

/** Serves an app with the recipe's configuration and database, over HTTP and WebSocket. */
export async function openApp(
  config: AuthConfig,
  db: DatabaseContext['db'],
): Promise<(sent: Sent) => Caller> {
  const auth = createAuthContext(config, { db })
  const httpContext = (options: HttpContextOptions) => ({ ...auth.http(options), db })
  const wsContext = (options: WsContextOptions) => ({ ...auth.ws(options), db })
  const router = appRouter
  const server = createServer(
    getRequestListener((req) =>
      fetchRequestHandler({
        endpoint: '/trpc',
        req,
        router,
        createContext: httpContext,
        ...authHandlerOptions,
      }),
    ),
  )
  const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(config) })
  applyWSSHandler({ wss, router, createContext: wsContext, ...authHandlerOptions })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    for (const socket of wss.clients) socket.terminate()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  return ({ headers = {}, token }) => {
    const sent = { origin: config.issuer, ...headers }
    const http = createTRPCClient<typeof appRouter>({
      links: [
        httpLink({
          url: `http://127.0.0.1:${port}/trpc`,
          headers: { ...sent, ...(token && { authorization: `Bearer ${token}` }) },
        }),
      ],
    })
    const socket = createWSClient({
      url: `ws://127.0.0.1:${port}/trpc`,
      WebSocket: socketWith(sent),
      lazy: { enabled: true, closeMs: 60_000 },
      ...(token && { connectionParams: { token } }),
    })
    onTestFinished(() => socket.close())
    const ws = createTRPCClient<typeof appRouter>({ links: [wsLink({ client: socket })] })
    return {
      me: () => outcomeOf(http.me.query()),
      pay: () => outcomeOf(http.pay.mutate()),
      meOverSocket: () => outcomeOf(ws.me.query()),
      ticks: () => openStream(ws.ticks),
    }
  }
}
