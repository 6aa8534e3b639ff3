import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type AuthConfig, type AuthDatabase, withAuthStore } from '@sallyport/core'
import { revokeSession } from '@sallyport/core/auth'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import {
  authHandlerOptions,
  authResponseMeta,
  createAuthContext,
  type WebSocketLimits,
  webSocketOptions,
} from '@sallyport/trpc'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { type CountingFeed, countingFeed } from './counting-feed.ts'
import {
  type FaultyKeySet,
  type FaultyLimits,
  type FaultyStore,
  faultyKeySet,
  faultyLimits,
  faultyStore,
} from './faulty-store.ts'
import { KEEP_ALIVE } from './keep-alive.ts'
import { appRouter } from './router.ts'
import { createStage, type Stage } from './stage.ts'

/** An app over all transports. Tests can break or count everything. */
export interface TestServer {
  readonly auth: TestAuth
  readonly config: AuthConfig
  readonly db: AuthDatabase
  readonly stage: Stage
  readonly feed: CountingFeed
  readonly store: FaultyStore
  readonly keys: FaultyKeySet
  readonly limits: FaultyLimits
  /** Host and port. */
  readonly host: string
  /** Live connections. */
  readonly sockets: WebSocketServer['clients']
  /** The running test's WebSocket clients. */
  readonly clients: Set<{ close(): Promise<void> }>
  /** Clears records and counts, and ends all faults. */
  reset(): void
  /** Ends a test: closes its clients, then resets. */
  clear(): Promise<void>
  close(): Promise<void>
}

/** The path of each adapter. */
export const PATHS = { node: '/trpc', fetch: '/fetch' } as const

/**
 * Starts the app on a free port: Node adapter, fetch adapter, WebSocket, and `/api/auth`.
 *
 * @param options.upgradeCheck `missing` is an app that forgot `webSocketOptions`
 * @param options.handshake `both steps` is an app that passes its store to the context, as the quick start
 * does
 * @param options.sockets `unknown` is an app whose context doesn't get the sockets, which then have no
 * listeners
 */
export async function startServer(
  options: Parameters<typeof createTestAuth<readonly []>>[0] & {
    upgradeCheck?: 'present' | 'missing'
    sockets?: 'known' | 'unknown'
    limits?: WebSocketLimits
    handshake?: 'both steps' | 'Step 1'
  } = {},
): Promise<TestServer> {
  const {
    upgradeCheck = 'present',
    sockets = 'known',
    handshake = 'Step 1',
    limits: socketLimits,
    ...authOptions
  } = options
  const auth = await createTestAuth(authOptions)
  const [own] = auth.config.issuers
  const keys = faultyKeySet(own.jwks)
  const config: AuthConfig = { ...auth.config, issuers: [{ ...own, jwks: keys }] }
  const store = faultyStore(auth.lookups.sessions)
  const feed = countingFeed(auth.database.revocations)
  const limits = faultyLimits(auth.database.limits)
  const db = withAuthStore({}, { sessions: store, revocations: feed, limits })
  const stage = createStage((sessionId) => revokeSession(sessionId, auth.database))

  const context = createAuthContext(config, handshake === 'both steps' ? { db } : {})
  const handlerOptions = { router: appRouter, responseMeta: authResponseMeta, ...authHandlerOptions }
  const overNode = createHTTPHandler({
    ...handlerOptions,
    basePath: `${PATHS.node}/`,
    createContext: (o) => ({ ...context.http(o), db, stage }),
  })
  const overFetch = getRequestListener((req, { incoming }) => {
    const { remoteAddress } = incoming.socket
    if (new URL(req.url).pathname.startsWith('/api/auth/')) return auth.handler(req, { remoteAddress })
    return fetchRequestHandler({
      ...handlerOptions,
      req,
      endpoint: PATHS.fetch,
      createContext: (o) => ({ ...context.http({ ...o, remoteAddress }), db, stage }),
    })
  })
  const server = createServer(KEEP_ALIVE, (req, res) =>
    req.url?.startsWith(`${PATHS.node}/`) ? overNode(req, res) : void overFetch(req, res),
  )
  const checks = upgradeCheck === 'present' ? webSocketOptions(config, socketLimits) : {}
  const wss = new WebSocketServer({ server, path: '/ws', ...checks })
  applyWSSHandler({
    wss,
    router: appRouter,
    createContext: ({ res, ...o }) => ({
      ...context.ws(sockets === 'known' ? { ...o, res } : o),
      db,
      stage,
    }),
    ...authHandlerOptions,
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo

  const clients: TestServer['clients'] = new Set()
  function reset(): void {
    stage.openGate()
    stage.count(-stage.counted)
    stage.runs.length = 0
    stage.abortedAtCleanup.length = 0
    auth.lookups.reset()
    store.answer = null
    limits.fault = null
    keys.fault = null
    keys.delay = Promise.resolve()
    keys.lookups = 0
  }

  return {
    auth,
    config,
    db,
    stage,
    feed,
    store,
    keys,
    limits,
    host: `localhost:${port}`,
    sockets: wss.clients,
    clients,
    reset,
    async clear() {
      const closed = [...clients].map((client) => client.close())
      clients.clear()
      // Clients would otherwise wait for pending responses.
      for (const socket of wss.clients) socket.terminate()
      await Promise.all(closed)
      reset()
    },
    async close() {
      for (const socket of wss.clients) socket.terminate()
      wss.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await auth.close()
    },
  }
}
