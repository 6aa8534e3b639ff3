/**
 * The server of `call.ts`, in a process of its own: one public and one protected procedure that do the same, over the Node HTTP
 * adapter, the fetch adapter and WebSocket. Tells the parent its ports, and on request the processor time it has used.
 */
import { mkdtempSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { createTestAuth } from '@sallyport/core/testing'
import { authHandlerOptions, createAuthContext, sessionMiddleware, webSocketOptions } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { Hono } from 'hono'
import { WebSocketServer } from 'ws'

const auth = await createTestAuth({
  databaseUrl: `file:${join(mkdtempSync(join(tmpdir(), 'sallyport-')), 'bench.db')}`,
})
const sessions = []
for (let i = 0; i < 1_000; i++)
  sessions.push(await auth.signIn(i === 0 ? {} : { userId: (sessions[0] ?? { userId: '' }).userId }))

const authContext = createAuthContext(auth.config)
const { db } = auth
const t = initTRPC.context<ReturnType<typeof authContext.http> & { db: typeof db }>().create()
const answer = { greeting: 'hello' }
const router = t.router({
  open: t.procedure.query(() => answer),
  guarded: t.procedure.use(sessionMiddleware).query(() => answer),
})

const node = createServer(
  createHTTPHandler({
    router,
    createContext: (o) => ({ ...authContext.http(o), db }),
    ...authHandlerOptions,
  }),
)
const hono = new Hono()
hono.all('/trpc/*', (c) =>
  fetchRequestHandler({
    endpoint: '/trpc',
    req: c.req.raw,
    router,
    createContext: (o) => ({ ...authContext.http(o), db }),
    ...authHandlerOptions,
  }),
)
const fetchServer = createServer(getRequestListener(hono.fetch))
const ws = createServer()
applyWSSHandler({
  wss: new WebSocketServer({ server: ws, ...webSocketOptions(auth.config) }),
  router,
  createContext: (o) => ({ ...authContext.ws(o), db }),
  ...authHandlerOptions,
})

process.on('message', () => process.send?.({ cpu: process.cpuUsage() }))
process.send?.({
  ports: { node: await listen(node), fetch: await listen(fetchServer), ws: await listen(ws) },
  cookies: sessions.slice(0, 32).map(({ cookie }) => cookie),
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
