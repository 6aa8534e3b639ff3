/**
 * Serves `call.ts` in a separate process: a public procedure, the same behind a middleware that does nothing
 * (the bound), and behind a guard, over the fetch adapter and WebSocket; and the auth endpoints. Sends its
 * ports and the requests of 2,000 sessions to the parent, and its processor time or a profile when asked.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { authHandlerOptions, createAuthContext, sessionMiddleware, webSocketOptions } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { type Shares, startProfile } from './profile.ts'

const SESSIONS = 2_000

const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
process.once('SIGTERM', () => {
  rmSync(directory, { recursive: true })
  process.exit(0)
})
const databaseUrl = `file:${join(directory, 'bench.db')}`
const unlimited = { points: 1e9, duration: 86_400 }
const auth = await createTestAuth({
  databaseUrl,
  session: { maxSessionsPerUser: Number.POSITIVE_INFINITY },
  emailPassword: { limits: { account: unlimited, address: unlimited } },
})
// A separate handle, because the test kit wraps its store in a counter.
const { db } = await openSqlite(databaseUrl)
const { userId, email } = await auth.createUser()
const cookies: string[] = []
for (let i = 0; i < SESSIONS; i++) cookies.push((await auth.signIn({ userId })).cookie)

const authContext = createAuthContext(auth.config, { db })
const t = initTRPC.context<ReturnType<typeof authContext.http> & { db: typeof db }>().create()
const response = { greeting: 'hello' }
const added = { bound: response }
const router = t.router({
  open: t.procedure.query(() => response),
  bound: t.procedure.use(async ({ next }) => next({ ctx: added })).query(() => response),
  guarded: t.procedure.use(sessionMiddleware).query(() => response),
})
const plain = initTRPC.create()
const plainRouter = plain.router({ open: plain.procedure.query(() => response) })

const http = createServer(
  getRequestListener((req) => {
    const { pathname } = new URL(req.url)
    if (pathname.startsWith('/trpc/'))
      return fetchRequestHandler({
        endpoint: '/trpc',
        req,
        router,
        createContext: (o) => ({ ...authContext.http(o), db }),
        ...authHandlerOptions,
      })
    if (pathname.startsWith('/plain/'))
      return fetchRequestHandler({
        endpoint: '/plain',
        req,
        router: plainRouter,
        createContext: () => ({ db, user: null }),
        ...authHandlerOptions,
      })
    return auth.handler(req, { remoteAddress: '203.0.113.1' })
  }),
)
const ws = createServer()
applyWSSHandler({
  wss: new WebSocketServer({ server: ws, ...webSocketOptions(auth.config, { framesPer100Ms: 1_000_000 }) }),
  router,
  createContext: (o) => ({ ...authContext.ws(o), db }),
  ...authHandlerOptions,
})

let endProfile: (() => Promise<Shares>) | undefined
process.on('message', async (message) => {
  const { user, system } = process.cpuUsage()
  if (message === 'start profile') endProfile = await startProfile()
  process.send?.(message === 'end profile' ? await endProfile?.() : user + system)
})
process.send?.({
  ports: { http: await listen(http), ws: await listen(ws) },
  cookies,
  signIn: { email, password: TEST_PASSWORD },
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
