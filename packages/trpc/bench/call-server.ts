/**
 * Serves `call.ts` in a separate process: one public and one protected procedure that do the same, over the
 * Node HTTP adapter, the fetch adapter, and WebSocket. Sends its ports to the parent.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { authHandlerOptions, createAuthContext, sessionMiddleware, webSocketOptions } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { Hono } from 'hono'
import { WebSocketServer } from 'ws'

const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
process.once('SIGTERM', () => {
  rmSync(directory, { recursive: true })
  process.exit(0)
})
const databaseUrl = `file:${join(directory, 'bench.db')}`
const auth = await createTestAuth({ databaseUrl })
// A separate handle, because the test kit wraps its store in a counter.
const { db } = await openSqlite(databaseUrl)
const { userId } = await auth.createUser()
const sessions: TestSession[] = []
for (let i = 0; i < 1_000; i++) sessions.push(await auth.signIn({ userId }))

const authContext = createAuthContext(auth.config, { db })
const t = initTRPC.context<ReturnType<typeof authContext.http> & { db: typeof db }>().create()
const response = { greeting: 'hello' }
const router = t.router({
  open: t.procedure.query(() => response),
  guarded: t.procedure.use(sessionMiddleware).query(() => response),
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
  wss: new WebSocketServer({ server: ws, ...webSocketOptions(auth.config, { framesPer100Ms: 1_000_000 }) }),
  router,
  createContext: (o) => ({ ...authContext.ws(o), db }),
  ...authHandlerOptions,
})

process.send?.({
  ports: { node: await listen(node), fetch: await listen(fetchServer), ws: await listen(ws) },
  cookies: sessions.slice(0, 32).map(({ cookie }) => cookie),
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
