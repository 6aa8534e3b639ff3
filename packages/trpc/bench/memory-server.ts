/** Serves `memory.ts`: a call and a stream, with or without a guard. Sends its memory when asked. */
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestAuth } from '@sallyport/core/testing'
import { authHandlerOptions, createAuthContext, sessionMiddleware, webSocketOptions } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'

export interface MemoryReady {
  readonly ports: Record<'http' | 'ws', number>
  readonly cookies: readonly string[]
}

export interface Memory {
  readonly bytes: number
}

const [kind, count] = process.argv.slice(2)
const auth = await createTestAuth()
const { db } = auth
const { userId } = await auth.createUser()
const cookies: string[] = []
for (let i = 0; i < Number(count); i++) cookies.push((await auth.signIn({ userId })).cookie)

async function* stream({ signal }: { signal?: AbortSignal | undefined }) {
  yield 'open'
  await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }))
}

const { http, ws } = kind === 'guarded' ? serveGuarded() : serveBare()
process.on('message', async () => {
  // Timers of the connections are over, and finalizers have run.
  for (let i = 0; i < 3; i++) {
    await sleep(200)
    globalThis.gc?.()
  }
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ bytes: heapUsed + external } satisfies Memory)
})
process.send?.({ ports: { http: await listen(http), ws: await listen(ws) }, cookies } satisfies MemoryReady)

function serveBare() {
  const t = initTRPC.create()
  const router = t.router({
    greet: t.procedure.query(() => 'hello'),
    stream: t.procedure.subscription(stream),
  })
  const createContext = () => ({ db })
  const ws = createServer()
  const shared = { router, createContext, ...authHandlerOptions }
  applyWSSHandler({ wss: new WebSocketServer({ server: ws }), ...shared })
  return { http: createServer(createHTTPHandler(shared)), ws }
}

function serveGuarded() {
  const authContext = createAuthContext(auth.config, { db })
  const t = initTRPC.context<ReturnType<typeof authContext.http> & { db: typeof db }>().create()
  const guarded = t.procedure.use(sessionMiddleware)
  const router = t.router({ greet: guarded.query(() => 'hello'), stream: guarded.subscription(stream) })
  const ws = createServer()
  applyWSSHandler({
    wss: new WebSocketServer({ server: ws, ...webSocketOptions(auth.config) }),
    router,
    createContext: (o) => ({ ...authContext.ws(o), db }),
    ...authHandlerOptions,
  })
  const handler = createHTTPHandler({
    router,
    createContext: (o) => ({ ...authContext.http(o), db }),
    ...authHandlerOptions,
  })
  return { http: createServer(handler), ws }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
