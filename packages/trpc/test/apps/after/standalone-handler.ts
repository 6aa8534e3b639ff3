import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, authResponseMeta, drain, webSocketOptions } from '@sallyport/trpc'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { authConfig } from './auth.config.ts'
import { auth } from './auth.ts'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const listener = getRequestListener((request, { incoming }) => auth.handler(request, incoming.socket))
const handle = createHTTPHandler({
  router: appRouter,
  createContext,
  basePath: '/trpc/',
  responseMeta: authResponseMeta,
  ...authHandlerOptions,
  maxBodySize: 100_000,
})
const server = createServer((req, res) => {
  if (req.url?.startsWith('/api/auth/')) void listener(req, res)
  else if (req.url?.startsWith('/trpc/')) handle(req, res)
  else res.end('Hello')
})

const sockets = new WebSocketServer({ server, ...webSocketOptions(authConfig) })
applyWSSHandler({ wss: sockets, router: appRouter, createContext, ...authHandlerOptions })

await auth.ready()
server.listen(Number(process.env.PORT))
process.once('SIGTERM', () => drain({ auth, sockets, server }))
