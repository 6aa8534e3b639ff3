/**
 * The server under attack, in a separate process: public and guarded procedures over WebSocket. Measures its
 * own memory.
 */
import { createServer } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createTestAuth } from '@sallyport/core/testing'
import {
  authErrorData,
  authHandlerOptions,
  createAuthContext,
  type DatabaseContext,
  sessionMiddleware,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'

/** What the server reports. */
export interface NodeReport {
  readonly host: string
  readonly cookies: readonly string[]
  readonly sessionIds: readonly string[]
}

/** What the server used and handled since the last report. */
export interface NodeUse {
  readonly rssBytes: number
  readonly sockets: number
  /** Sockets closed by a limit, by code. */
  readonly closed: Readonly<Record<string, number>>
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const t = initTRPC.context<DatabaseContext>().create({
  isDev: false,
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const guarded = t.procedure.use(sessionMiddleware)
const turn = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const LARGE = 'x'.repeat(16 * 1024)
const router = t.router({
  me: guarded.query(({ ctx }) => ctx.user.id),
  clock: guarded.subscription(async function* ({ ctx }) {
    for (; !ctx.auth.signal.aborted; await turn(50)) yield 'tick'
  }),
  values: t.procedure.subscription(async function* ({ signal }) {
    for (; !signal?.aborted; await turn(0)) yield LARGE
  }),
  idle: t.procedure.subscription(async function* ({ signal }) {
    yield 'ready'
    await new Promise((resolve) => signal?.addEventListener('abort', resolve))
  }),
})

process.once('message', async ({ databaseUrl, users }: { databaseUrl: string; users: number }) => {
  const auth = await createTestAuth({ databaseUrl, trustedProxies: ['loopback'] })
  const { config, db } = auth
  const sessions = await Promise.all(Array.from({ length: users }, () => auth.signIn()))
  const context = createAuthContext(config, { db })
  const server = createServer()
  const wss = new WebSocketServer({ server, ...webSocketOptions(config) })
  applyWSSHandler({
    wss,
    router,
    createContext: (o) => ({ ...context.ws(o), db }),
    ...authHandlerOptions,
  })
  let closed: Record<string, number> = {}
  let rssBytes = 0
  wss.on('connection', (socket) =>
    socket.on('close', (code) => {
      closed[code] = (closed[code] ?? 0) + 1
    }),
  )
  setInterval(() => {
    rssBytes = Math.max(rssBytes, process.memoryUsage.rss())
  }, 20)
  process.on('message', () => {
    const use: NodeUse = { rssBytes, sockets: wss.clients.size, closed }
    collectGarbage()
    closed = {}
    rssBytes = process.memoryUsage.rss()
    process.send?.(use)
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    const report: NodeReport = {
      host: `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
      cookies: sessions.map(({ cookie }) => cookie),
      sessionIds: sessions.map(({ sessionId }) => sessionId),
    }
    process.send?.(report)
  })
})
process.once('disconnect', () => process.exit())
