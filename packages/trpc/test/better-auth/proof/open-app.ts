import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  authErrorData,
  authHandlerOptions,
  type HttpContextOptions,
  sessionMiddleware,
  type WsContextOptions,
  webSocketOptions,
} from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { toNodeHandler } from 'better-auth/node'
import { WebSocketServer } from 'ws'
import { KEEP_ALIVE } from '../../support/keep-alive.ts'
import { openAuth } from './open-auth.ts'

export type ProofApp = Awaited<ReturnType<typeof openProofApp>>

/** Opens an app that signs users in with Better Auth and can be called on every path. */
export async function openProofApp(...options: Parameters<typeof openAuth>) {
  const { auth, client, close, codes, run } = await openAuth(...options)
  const guard = betterAuthGuard(auth)
  const db = guard.attach(client)
  const httpContext = (o: HttpContextOptions) => ({ ...guard.http(o), db })
  const wsContext = (o: WsContextOptions) => ({ ...guard.ws(o), db })

  const t = initTRPC.context<ReturnType<typeof httpContext>>().create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
    sse: { ping: { enabled: true, intervalMs: 1_000 } },
  })
  const protectedProcedure = t.procedure.use(sessionMiddleware)
  const router = t.router({
    me: protectedProcedure.query(({ ctx: { session } }) => `${session.userId}/${session.id}`),
    watch: protectedProcedure.subscription(async function* ({ ctx: { auth, session } }) {
      yield `${session.userId}/${session.id}`
      await new Promise((resolve) => auth.signal.addEventListener('abort', resolve, { once: true }))
    }),
  })
  const createCaller = t.createCallerFactory(router)

  const trpc = createHTTPHandler({
    router,
    basePath: '/trpc/',
    createContext: httpContext,
    responseMeta: guard.responseMeta,
    ...authHandlerOptions,
  })
  const handler = toNodeHandler(auth)
  const server = createServer(KEEP_ALIVE, (req, res) =>
    (req.url?.startsWith('/trpc/') ? trpc : handler)(req, res),
  )
  const wss = new WebSocketServer({ server, ...webSocketOptions(guard.config) })
  applyWSSHandler({ wss, router, createContext: wsContext, ...authHandlerOptions })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    auth,
    codes,
    run,
    host: `127.0.0.1:${port}`,
    render: (headers: Readonly<Record<string, string>>) =>
      createCaller({ ...guard.headers(headers), db }).me(),
    async close() {
      for (const socket of wss.clients) socket.terminate()
      wss.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await guard.close()
      await close()
    },
  }
}
