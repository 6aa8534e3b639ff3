/**
 * One of several nodes on one database: `/api/auth`, and an app's query and subscription over HTTP,
 * server-sent events, and WebSocket. Reports its address.
 */
import { EventEmitter, on } from 'node:events'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { createAuth, defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import {
  authErrorData,
  authHandlerOptions,
  createAuthContext,
  type DatabaseContext,
  sessionMiddleware,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { KEEP_ALIVE } from '../support/keep-alive.ts'
import { BASE_URL, LONG_RUN, type NodeSettings } from './node-settings.ts'
import { openDatabase } from './open-database.ts'

const ticker = new EventEmitter().setMaxListeners(0)

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
/** Adds to each value when it was emitted, after the guard. */
const stamped = t.middleware(async ({ next }) => {
  const result = await next()
  return result.ok ? { ...result, data: stamp(result.data as AsyncIterable<string>) } : result
})
async function* stamp(values: AsyncIterable<string>) {
  for await (const value of values) yield `${value} ${Date.now()}`
}

const router = t.router({
  me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.session.userId),
  clock: t.procedure
    .use(stamped)
    .use(sessionMiddleware)
    .subscription(async function* ({ ctx }) {
      const ticks = on(ticker, 'tick', { signal: ctx.auth.signal })
      yield ctx.session.userId
      for await (const _ of ticks) yield ctx.session.userId
    }),
})
export type RevocationRouter = typeof router

process.once('message', async (settings: NodeSettings) => {
  const { databaseUrl, signingKeys, tickMs, cacheSize = 10_000, timeouts = {} } = settings
  const jwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const session = { ...LONG_RUN.session, lookupTimeoutMs: timeouts.lookupTimeoutMs ?? 2_000 }
  const config = defineAuthConfig({ ...LONG_RUN, baseUrl: BASE_URL, jwks, jwt: { cacheSize }, session })
  const database = await openDatabase(databaseUrl, { timeouts })
  const { db } = database
  const definition = defineAuth({ config, signingKeys, plugins: [admin(), emailPassword()] })
  const { handler } = await createAuth(definition, database)
  const overAuth = getRequestListener((request) => handler(request))
  const context = createAuthContext(config, { db })
  const overTrpc = createHTTPHandler({
    router,
    basePath: '/trpc/',
    createContext: (o) => ({ ...context.http(o), db }),
    ...authHandlerOptions,
  })
  const server = createServer(KEEP_ALIVE, (request, response) =>
    request.url?.startsWith('/trpc/') ? overTrpc(request, response) : void overAuth(request, response),
  )
  applyWSSHandler({
    wss: new WebSocketServer({ server, path: '/ws', ...webSocketOptions(config) }),
    router,
    createContext: (o) => ({ ...context.ws(o), db }),
    ...authHandlerOptions,
  })
  setInterval(() => ticker.emit('tick'), tickMs)
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
    const address = server.address()
    if (typeof address === 'object') process.send?.(`127.0.0.1:${address?.port}`)
  })
})
process.once('disconnect', () => process.exit())
