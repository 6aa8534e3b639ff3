import { assertGuarded } from '@sallyport/trpc'
import { database } from './context.ts'
import { server } from './hono.ts' // or express.ts, fastify.ts, node-http.ts
import { appRouter } from './router.ts'
import { serveWebSockets } from './web-sockets.ts'

// Throws if a procedure has no guard and isn't listed here.
assertGuarded(appRouter, { public: [] })

const { wss, trpc } = serveWebSockets(server)
server.listen(Number(process.env.PORT ?? 3000))
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

/** Sends clients to other nodes, lets calls finish, and closes the database after them. */
function stop(): void {
  trpc.broadcastReconnectNotification()
  for (const socket of wss.clients) socket.close(1001)
  server.close(() => void database.close())
  // Connections stay open after their last call.
  setInterval(() => server.closeIdleConnections(), 100).unref()
  setTimeout(cut, 5_000).unref()
}

/** Server-sent events have no end. */
function cut(): void {
  for (const socket of wss.clients) socket.terminate()
  server.closeAllConnections()
}
