import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastifyWebsocket from '@fastify/websocket'
import { getRequestListener } from '@hono/node-server'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import {
  type AuthContext,
  authErrorData,
  authHandlerOptions,
  createAuthContext,
  createHandler,
  drain,
  type RequestContextOptions,
  sessionMiddleware,
  webSocketOptions,
} from '@sallyport/trpc'
import { initTRPC, tracked } from '@trpc/server'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { fastify } from 'fastify'
import { WebSocketServer } from 'ws'
import * as z from 'zod'

/** What the procedures share with a test. */
export interface Scene {
  /** Calls that have begun. */
  begun: number
  /** Calls that were written. */
  readonly written: string[]
  /** Ends the calls that have begun. */
  readonly release: PromiseWithResolvers<void>
  /** The event that all streams emit next. */
  event: number
  /** Streams whose resolvers are still running. */
  streams: number
}

const t = initTRPC.context<AuthContext & { db: TestAuth['db']; scene: Scene }>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  sse: { ping: { enabled: true, intervalMs: 1_000 } },
})
const guarded = t.procedure.use(sessionMiddleware)

/** Writes, and responds after the release. */
async function write({ ctx: { scene }, input }: { ctx: { scene: Scene }; input: string }) {
  scene.begun++
  await scene.release.promise
  scene.written.push(input)
  return input
}

const router = t.router({
  ready: t.procedure.query(() => 'yes'),
  write: t.procedure.input(z.string()).mutation(write),
  writeGuarded: guarded.input(z.string()).mutation(async (call) => {
    const result = await write(call)
    // The database must still be open.
    call.ctx.auth.signal.throwIfAborted()
    await call.ctx.db.selectFrom('user').select('id').execute()
    return result
  }),
  never: guarded.mutation(async ({ ctx }) => {
    ctx.scene.begun++
    await new Promise(() => {})
  }),
  events: guarded
    .input(z.object({ lastEventId: z.string().optional() }).optional())
    .subscription(async function* ({ ctx, input }) {
      const { scene } = ctx
      scene.streams++
      try {
        for (let id = Number(input?.lastEventId ?? 0); !ctx.auth.signal.aborted; ) {
          while (id < scene.event) yield tracked(`${++id}`, id)
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
      } finally {
        scene.streams--
      }
    }),
})
export type DrainRouter = typeof router

/** A server with its sockets. */
export interface Node {
  readonly host: string
  readonly server: Server
  readonly sockets: WebSocketServer
}

export async function openScene() {
  const auth = await createTestAuth()
  const scene: Scene = { begun: 0, written: [], release: Promise.withResolvers(), event: 1, streams: 0 }
  const { cookie } = await auth.signIn()
  return { auth, scene, cookie, ...adaptersOf(auth, scene) }
}

function adaptersOf(auth: TestAuth, scene: Scene) {
  const { config, db } = auth
  const context = createAuthContext(config, { db })
  const createContext = (o: RequestContextOptions) => ({ ...context.request(o), db, scene })
  const trpc = { router, createContext, ...authHandlerOptions }
  const handle = createHandler({ auth, config, router, createContext })

  async function listen(): Promise<Node> {
    const server = createServer(
      getRequestListener((request, { incoming }) => handle(request, incoming.socket)),
    )
    const sockets = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(config) })
    applyWSSHandler({ wss: sockets, ...trpc })
    server.listen(0)
    await once(server, 'listening')
    return { host: hostOf(server), server, sockets }
  }

  async function listenWithFastify(): Promise<Node> {
    const app = fastify()
    await app.register(fastifyWebsocket, { options: webSocketOptions(config) })
    await app.register(fastifyTRPCPlugin, { prefix: '/trpc', useWSS: true, trpcOptions: trpc })
    await app.listen({ port: 0 })
    return { host: hostOf(app.server), server: app.server, sockets: app.websocketServer }
  }

  return { handle, listen, listenWithFastify }
}

export function hostOf(server: Server): string {
  return `localhost:${(server.address() as AddressInfo).port}`
}

/** Drains a node; the default timeout is far longer than the test should take. */
export function drainNode(auth: TestAuth, { server, sockets }: Node, timeoutMs = 50_000): Promise<void> {
  return drain({ auth, server, sockets, timeoutMs })
}
