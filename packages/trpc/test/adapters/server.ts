import { assertGuarded, authHandlerOptions, drain, webSocketOptions } from '@sallyport/trpc'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { authConfig } from './auth.config.ts'
import { auth, database, wsContext } from './context.ts'
import { server } from './hono.ts' // or express.ts, fastify.ts, node-http.ts
import { appRouter } from './router.ts'

// Throws if a procedure has no guard and isn't listed here.
assertGuarded(appRouter, { public: [] })

// Optional: subscriptions can use server-sent events.
const sockets = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
applyWSSHandler({ wss: sockets, router: appRouter, createContext: wsContext, ...authHandlerOptions })

server.listen(Number(process.env.PORT ?? 3000))
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

async function stop(): Promise<void> {
  await drain({ auth, sockets, server })
  await database.close()
}
