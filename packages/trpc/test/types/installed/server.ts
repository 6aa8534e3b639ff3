import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { assertGuarded, authHandlerOptions, createHandler, webSocketOptions } from '@sallyport/trpc'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { type Context, Hono } from 'hono'
import { WebSocketServer } from 'ws'
import { authConfig } from './auth.config.ts'
import { auth } from './auth-server.ts'
import { httpContext, wsContext } from './context.ts'
import { appRouter } from './router.ts'
import { port } from './settings.ts'

assertGuarded(appRouter, { public: [] })

const remoteAddress = (c: Context) => getConnInfo(c).remote.address
const app = new Hono()
const handle = createHandler({ auth, config: authConfig, router: appRouter, createContext: httpContext })
for (const path of ['/api/auth/*', '/trpc/*'])
  app.all(path, (c) => handle(c.req.raw, { remoteAddress: remoteAddress(c) }))

const server = createServer(getRequestListener(app.fetch)).listen(port)
const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
applyWSSHandler({ wss, router: appRouter, createContext: wsContext, ...authHandlerOptions })

export function closeServer(): void {
  auth.close()
  for (const socket of wss.clients) socket.terminate()
  wss.close()
  server.close()
  server.closeAllConnections()
}
