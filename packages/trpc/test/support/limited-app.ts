import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastifyWebsocket from '@fastify/websocket'
import type { AuthConfigOptions } from '@sallyport/core'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import {
  authErrorData,
  authHandlerOptions,
  createAuthContext,
  type DatabaseContext,
  sessionMiddleware,
  type WebSocketLimits,
  type WsContextOptions,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { fastify } from 'fastify'
import { WebSocket, WebSocketServer } from 'ws'
import { ORIGIN } from './visitor.ts'

/** The servers with limited sockets. */
export const ADAPTERS = ['ws', '@fastify/websocket'] as const
export type Adapter = (typeof ADAPTERS)[number]

/** Bytes in each value of the streams. */
export const VALUE_BYTES = 64 * 1024

/** 64 MB: without the limits a test fails before the process runs out of memory. */
const MAX_VALUES = 1_024

/** What the procedures record. */
export interface Counts {
  /** Calls of `createContext`, by connection. */
  contexts: number
  /** Calls of `ping` that ran. */
  pings: number
  /** Values read from the streams' sources. */
  values: number
  /** Open streams. */
  streams: number
}

/** An app on a free port with one of the adapters. */
export interface LimitedApp {
  readonly auth: TestAuth
  readonly counts: Counts
  readonly sockets: Set<WebSocket>
  readonly url: string
  /** Opens a socket, or rejects with the status of the upgrade. */
  connect(headers?: Record<string, string>): Promise<WebSocket>
  close(): Promise<void>
}

const t = initTRPC.context<DatabaseContext & { counts: Counts }>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const guarded = t.procedure.use(sessionMiddleware)

async function* values({ ctx, signal }: { ctx: { counts: Counts }; signal: AbortSignal | undefined }) {
  for (; !signal?.aborted && ctx.counts.values < MAX_VALUES; ctx.counts.values++) {
    yield 'x'.repeat(VALUE_BYTES)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function* idle({ ctx, signal }: { ctx: { counts: Counts }; signal: AbortSignal | undefined }) {
  ctx.counts.streams++
  try {
    yield 'ready'
    if (signal !== undefined) await once(signal, 'abort')
  } finally {
    ctx.counts.streams--
  }
}

const router = t.router({
  ping: t.procedure.query(({ ctx }) => ++ctx.counts.pings),
  me: guarded.query(({ ctx }) => ctx.user.id),
  publicValues: t.procedure.subscription(values),
  values: guarded.subscription(values),
  publicIdle: t.procedure.subscription(idle),
  idle: guarded.subscription(idle),
  failing: t.procedure.query(() => {
    throw new Error('a bug of the app')
  }),
})

export type LimitedRouter = typeof router

export async function openLimitedApp(
  adapter: Adapter,
  limits: WebSocketLimits = {},
  options: Pick<AuthConfigOptions, 'trustedProxies' | 'telemetry'> = {},
): Promise<LimitedApp> {
  const auth = await createTestAuth(options)
  const { db, config } = auth
  const counts: Counts = { contexts: 0, pings: 0, values: 0, streams: 0 }
  const context = createAuthContext(config, { db })
  const trpc = {
    router,
    createContext(o: WsContextOptions) {
      counts.contexts++
      return { ...context.ws(o), db, counts }
    },
    ...authHandlerOptions,
  }
  const socketOptions = webSocketOptions(config, limits)
  const served = adapter === 'ws' ? await serveByWs() : await serveByFastify()

  async function serveByWs() {
    const server = createServer()
    const wss = new WebSocketServer({ server, path: '/trpc', ...socketOptions })
    applyWSSHandler({ wss, ...trpc })
    await new Promise<void>((resolve) => server.listen(0, resolve))
    return { wss, server, close: () => new Promise((resolve) => server.close(resolve)) }
  }

  async function serveByFastify() {
    const app = fastify()
    await app.register(fastifyWebsocket, { options: socketOptions })
    await app.register(fastifyTRPCPlugin, {
      prefix: '/trpc',
      useWSS: true,
      trpcOptions: { ...trpc, createContext: (o: unknown) => trpc.createContext(o as WsContextOptions) },
    })
    await app.listen({ port: 0 })
    return { wss: app.websocketServer, server: app.server, close: () => app.close() }
  }

  const { port } = served.server.address() as AddressInfo
  const url = `ws://localhost:${port}/trpc`
  return {
    auth,
    counts,
    sockets: served.wss.clients,
    url,
    connect(headers = {}) {
      const socket = new WebSocket(url, { headers: { origin: ORIGIN, ...headers } })
      return new Promise((resolve, reject) => {
        socket.once('open', () => resolve(socket))
        socket.once('unexpected-response', (_request, { statusCode, headers }) => {
          reject(new Error(`${statusCode} ${headers['retry-after'] ?? ''}`))
          socket.terminate()
        })
        socket.on('error', () => {})
      })
    },
    async close() {
      for (const socket of served.wss.clients) socket.terminate()
      await served.close()
      await auth.close()
    },
  }
}
