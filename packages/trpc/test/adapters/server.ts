import { assertGuarded } from '@sallyport/trpc'
import { database } from './database.ts'
import { server } from './hono.ts' // or express.ts, fastify.ts, node-http.ts
import { appRouter } from './router.ts'
import { serveWebSockets } from './web-sockets.ts'

// A procedure that is neither guarded nor named here stops the start.
assertGuarded(appRouter, { public: ['health'] })

const { wss, trpc } = serveWebSockets(server)
server.listen(Number(process.env.PORT ?? 3000))
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

/** Sends clients elsewhere, lets calls end, and closes the database behind them. */
function stop(): void {
  trpc.broadcastReconnectNotification()
  for (const socket of wss.clients) socket.close(1001)
  server.close(() => void database.close())
  // A connection whose call has ended stays open by itself.
  setInterval(() => server.closeIdleConnections(), 100).unref()
  setTimeout(cut, 5_000).unref()
}

/** Server-sent events do not end by themselves. */
function cut(): void {
  for (const socket of wss.clients) socket.terminate()
  server.closeAllConnections()
}
