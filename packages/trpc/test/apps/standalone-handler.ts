import { createServer } from 'node:http'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const handle = createHTTPHandler({
  router: appRouter,
  createContext,
  basePath: '/trpc/',
  maxBodySize: 100_000,
})
const server = createServer((req, res) => {
  if (req.url?.startsWith('/trpc/')) handle(req, res)
  else res.end('Hello')
})

const sockets = new WebSocketServer({ server })
applyWSSHandler({ wss: sockets, router: appRouter, createContext })

server.listen(Number(process.env.PORT))
