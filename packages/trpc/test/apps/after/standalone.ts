import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, authResponseMeta, drain, webSocketOptions } from '@sallyport/trpc'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { authConfig } from './auth.config.ts'
import { auth } from './auth.ts'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const listener = getRequestListener((request, { incoming }) => auth.handler(request, incoming.socket))
const server = createHTTPServer({
  router: appRouter,
  createContext,
  basePath: '/trpc/',
  responseMeta: authResponseMeta,
  ...authHandlerOptions,
  maxBodySize: 100_000,
  middleware(req, res, next) {
    if (req.url?.startsWith('/api/auth/')) void listener(req, res)
    else next()
  },
})

const sockets = new WebSocketServer({ server, ...webSocketOptions(authConfig) })
applyWSSHandler({ wss: sockets, router: appRouter, createContext, ...authHandlerOptions })

await auth.ready()
server.listen(Number(process.env.PORT))
process.once('SIGTERM', () => drain({ auth, sockets, server }))
