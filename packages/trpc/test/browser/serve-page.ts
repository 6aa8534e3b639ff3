import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { createAuth, revokeSession } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { authHandlerOptions, authResponseMeta, createAuthContext, webSocketOptions } from '@sallyport/trpc'
import type { AnyRouter } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { appRouter } from '../support/router.ts'
import { createStage, type Stage } from '../support/stage.ts'
import { type AnswerHold, createAnswerHolds } from './answer-holds.ts'
import { bundlePage } from './bundle-page.ts'
import { type Outage, withOutage } from './outage.ts'

/** What a {@link Site} serves. */
export interface SiteOptions {
  /** The entry of the page, `.ts` or `.tsx`. Every path that nobody else answers is a page with this script and `<div id="root">`. */
  readonly entry: URL
  /** Makes the script. @default `bundlePage` */
  readonly bundle?: (file: string) => Promise<string>
  /** Answers before the page does; null leaves the request to it. For pages that are rendered on the server. */
  readonly handler?: (request: Request, site: Site) => Promise<Response | null> | Response | null
  /** Procedures at `/trpc`. @default `appRouter` of test/support/router.ts */
  readonly router?: AnyRouter
  /** Settings of the auth server. */
  readonly auth?: Parameters<typeof createTestAuth<readonly []>>[0]
}

/** A request that the site has answered, or is about to. */
export interface SiteRequest {
  readonly method: string
  readonly path: string
  /** Null until it is answered. */
  status: number | null
}

/** A page, the auth endpoints and an API of one origin on a real server with a real SQLite file, whose clock the test moves. */
export interface Site extends AsyncDisposable {
  /** Such as `http://localhost:41234`. */
  readonly origin: string
  /**
   * Makes users, signs them in, revokes and bans: another process would do it as this does, with connections of its own to the same file.
   * `auth.clock` is the server's clock.
   */
  readonly auth: TestAuth
  readonly stage: Stage
  /** What came so far, in order. */
  readonly requests: readonly SiteRequest[]
  /** How many requests there were to a path. */
  count(path: string): number
  /** Forgets what came so far. */
  forget(): void
  /** Answers to requests whose path begins like this are computed, but kept back until they are released. */
  hold(path: string): AnswerHold
  /** Whether the database rejects everything. */
  isDatabaseDown: boolean
  /** How many sockets are open. */
  readonly openSockets: number
  /** Ends every socket as a network that breaks. */
  dropSockets(): void
  /** Ends every connection and listens no more. */
  stop(): Promise<void>
  /** Starts again with nothing in memory, on the same port, with the same file and keys. */
  start(): Promise<void>
  close(): Promise<void>
}

/** Serves a page on a free port. Close it at the end, or declare it with `await using`. */
export async function servePage({
  entry,
  bundle = bundlePage,
  handler = () => null,
  router = appRouter,
  auth: authOptions,
}: SiteOptions): Promise<Site> {
  const script = await bundle(fileURLToPath(entry))
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-site-'))
  const databaseUrl = `file:${join(folder, 'auth.db')}`
  const holds = createAnswerHolds()
  const requests: SiteRequest[] = []
  let server = await listen(0)
  const { port } = server.address() as AddressInfo
  const origin = `http://localhost:${port}`
  const auth = await createTestAuth({ ...authOptions, baseUrl: origin, databaseUrl })
  const stage = createStage((sessionId) => revokeSession(sessionId, auth.database))
  let running = await run(server)

  async function run(
    listening: Server,
  ): Promise<{ outage: Outage; wss: WebSocketServer; end(): Promise<void> }> {
    const { config, definition } = auth
    const outage = withOutage(await openSqlite(databaseUrl, { columns: columnsOf(definition) }))
    const { database } = outage
    const { handler: answerAuth } = await createAuth(definition, database, { pruneEverySeconds: 0 })
    const { db } = database
    const context = createAuthContext(config, { db })

    async function answer(request: Request, remoteAddress: string | undefined): Promise<Response> {
      const { pathname } = new URL(request.url)
      if (pathname.startsWith('/api/auth/')) return answerAuth(request, { remoteAddress })
      if (pathname.startsWith('/trpc')) {
        return fetchRequestHandler({
          router,
          req: request,
          endpoint: '/trpc',
          createContext: (o) => ({ ...context.http({ ...o, remoteAddress }), db, stage }),
          responseMeta: authResponseMeta,
          ...authHandlerOptions,
        })
      }
      const own = await handler(request, site)
      if (own !== null) return own
      if (pathname === '/page.js')
        return new Response(script, { headers: { 'content-type': 'text/javascript' } })
      if (pathname === '/favicon.ico') return new Response(null, { status: 204 })
      return new Response(PAGE, { headers: { 'content-type': 'text/html; charset=utf-8' } })
    }

    const listener = getRequestListener(async (request, { incoming }) => {
      const { pathname } = new URL(request.url)
      const record: SiteRequest = { method: request.method, path: pathname, status: null }
      requests.push(record)
      const response = await answer(request, incoming.socket.remoteAddress)
      await holds.pass(pathname)
      record.status = response.status
      return response
    })
    listening.on('request', (req, res) => void listener(req, res))
    const wss = new WebSocketServer({ server: listening, path: '/trpc', ...webSocketOptions(config) })
    applyWSSHandler({
      wss,
      router,
      createContext: (o) => ({ ...context.ws(o), db, stage }),
      ...authHandlerOptions,
    })
    return {
      outage,
      wss,
      async end() {
        for (const socket of wss.clients) socket.terminate()
        wss.close()
        listening.closeAllConnections()
        await new Promise((resolve) => listening.close(resolve))
        await database.close()
      },
    }
  }

  const site: Site = {
    origin,
    auth,
    stage,
    requests,
    count: (path) => requests.filter((request) => request.path === path).length,
    forget: () => void requests.splice(0),
    hold: holds.hold,
    get isDatabaseDown() {
      return running.outage.isDown
    },
    set isDatabaseDown(isDown) {
      running.outage.isDown = isDown
    },
    get openSockets() {
      return running.wss.clients.size
    },
    dropSockets() {
      for (const socket of running.wss.clients) socket.terminate()
    },
    stop: () => running.end(),
    async start() {
      server = await listen(port)
      running = await run(server)
    },
    async close() {
      holds.releaseAll()
      stage.openGate()
      if (server.listening) await running.end()
      await auth.close()
      rmSync(folder, { recursive: true })
    },
    [Symbol.asyncDispose]: () => site.close(),
  }
  return site
}

const PAGE = `<!doctype html><html lang="en"><head><title>Site</title></head>
<body><div id="root"></div><script src="/page.js"></script></body></html>`

async function listen(port: number): Promise<Server> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, () => resolve())
  })
  return server
}
