/**
 * The server under attack, in a separate process: procedures that must never run, over the Node HTTP adapter,
 * the fetch adapter, and WebSocket, with the auth endpoints. Sends its ports to the parent, and its state on
 * request.
 */
import { createServer, type Server } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { getRequestListener } from '@hono/node-server'
import { createAuth } from '@sallyport/core/auth'
import {
  authHandlerOptions,
  createAuthContext,
  sensitiveSessionMiddleware,
  sessionMiddleware,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { Hono } from 'hono'
import { WebSocketServer } from 'ws'
import { prototypes } from '../../../core/test/hostile/prototypes.ts'
import { createTarget } from '../../../core/test/hostile/target.ts'

const target = await createTarget(process.argv[2] ?? '')
const { config } = target.openGate()
const { db, database, definition } = target.auth
const authContext = createAuthContext(config)
const auth = await createAuth({ ...definition, config }, database)
const before = prototypes()
let resolved = 0

const t = initTRPC.context<ReturnType<typeof authContext.http> & { db: typeof db }>().create()
const guarded = t.procedure.use(sessionMiddleware)
const router = t.router({
  read: guarded.query(() => ++resolved),
  write: t.procedure.use(sensitiveSessionMiddleware).mutation(() => ++resolved),
  watch: guarded.subscription(async function* () {
    yield ++resolved
  }),
})

const node = createServer(
  createHTTPHandler({
    router,
    createContext: (o) => ({ ...authContext.http(o), db }),
    ...authHandlerOptions,
  }),
)
const hono = new Hono()
hono.all('/api/auth/*', (c) => auth.handler(c.req.raw))
hono.all('/trpc/*', (c) =>
  fetchRequestHandler({
    endpoint: '/trpc',
    req: c.req.raw,
    router,
    createContext: (o) => ({ ...authContext.http(o), db }),
    ...authHandlerOptions,
  }),
)
const fetch = createServer(getRequestListener(hono.fetch))
const ws = createServer()
applyWSSHandler({
  wss: new WebSocketServer({ server: ws, ...webSocketOptions(config) }),
  router,
  createContext: (o) => ({ ...authContext.ws(o), db }),
  ...authHandlerOptions,
})

process.on('message', () =>
  process.send?.({ resolved, isPolluted: !isDeepStrictEqual(prototypes(), before) }),
)
process.on('disconnect', () => process.exit())
process.send?.({ node: await listen(node), fetch: await listen(fetch), ws: await listen(ws) })

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
