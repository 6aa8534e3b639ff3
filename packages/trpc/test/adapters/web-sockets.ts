import type { Server } from 'node:http'
import { authHandlerOptions, webSocketOptions } from '@sallyport/trpc'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { authConfig } from './auth.config.ts'
import { wsContext } from './context.ts'
import { appRouter } from './router.ts'

/** Serves tRPC over WebSocket on any server of Node. */
export function serveWebSockets(server: Server) {
  const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
  const trpc = applyWSSHandler({
    wss,
    router: appRouter,
    createContext: wsContext,
    ...authHandlerOptions,
  })
  return { wss, trpc }
}
