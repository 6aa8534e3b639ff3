import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { type AuthPlugin, createAuth, revokeSession } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { authHandlerOptions, authResponseMeta, createAuthContext, webSocketOptions } from '@sallyport/trpc'
import type { AnyRouter } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { freePort } from '../../../core/test/support/free-port.ts'
import { appRouter } from '../support/router.ts'
import { createStage, type Stage } from '../support/stage.ts'
import { bundlePage } from './bundle-page.ts'
import { type Outage, withOutage } from './outage.ts'
import { createResponseHolds, type ResponseHold } from './response-holds.ts'

/** The options of {@link servePage}. */
export interface SiteOptions {
  /**
   * The page's entry, `.ts` or `.tsx`. Every unhandled path responds with a page with this script and
   * `<div id="root">`.
   */
  readonly entry: URL
  /** Creates the script. @default `bundlePage` */
  readonly bundle?: (file: string) => Promise<string>
  /** Handles requests before the page does. Returns null to pass a request on. For server-rendered pages. */
  readonly handler?: (request: Request, site: Site) => Promise<Response | null> | Response | null
  /** Procedures at `/trpc`. @default `appRouter` of test/support/router.ts */
  readonly router?: AnyRouter
  /** The auth server's settings. */
  readonly auth?: Parameters<typeof createTestAuth<readonly AuthPlugin[]>>[0]
}

/** A request to the site. */
export interface SiteRequest {
  readonly method: string
  readonly path: string
  /** Null until the site has responded. */
  status: number | null
}

/**
 * A page, the auth endpoints, and an API on one origin: a real server and SQLite file with a clock that the
 * test moves.
 */
export interface Site extends AsyncDisposable {
  /** Such as `http://localhost:41234`. */
  readonly origin: string
  /**
   * Creates users, signs them in, revokes, and bans, with its own connections to the file, as another process
   * would. `auth.clock` is the server's clock.
   */
  readonly auth: Omit<TestAuth, 'definition'>
  readonly stage: Stage
  /** The requests so far, in order. */
  readonly requests: readonly SiteRequest[]
  /** Counts the requests to a path. */
  count(path: string): number
  /** Forgets the requests so far. */
  forget(): void
  /**
   * Holds back responses to paths with this prefix until they are released. The server still computes them.
   */
  hold(path: string): ResponseHold
  /** Whether the database rejects everything. */
  isDatabaseDown: boolean
  /** The number of open sockets. */
  readonly openSockets: number
  /** Drops every socket, as a broken network does. */
  dropSockets(): void
  /** Ends every connection and stops listening. */
  stop(): Promise<void>
  /** Starts again with empty memory, on the same port and with the same file and keys. */
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
  const holds = createResponseHolds()
  const requests: SiteRequest[] = []
  const port = await freePort()
  let server = await listen(port)
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
    const authServer = await createAuth(definition, database, { pruneEverySeconds: 0 })
    const { db } = database
    const context = createAuthContext(config, { db })

    async function answer(request: Request, remoteAddress: string | undefined): Promise<Response> {
      const { pathname } = new URL(request.url)
      if (pathname.startsWith('/api/auth/')) return authServer.handler(request, { remoteAddress })
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
        await authServer.close()
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
