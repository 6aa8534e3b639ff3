import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const server = createHTTPServer({
  router: appRouter,
  createContext,
  basePath: '/trpc/',
  maxBodySize: 100_000,
})

const sockets = new WebSocketServer({ server })
applyWSSHandler({ wss: sockets, router: appRouter, createContext })

server.listen(Number(process.env.PORT))
