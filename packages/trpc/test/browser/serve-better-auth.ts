import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import {
  authErrorData,
  authHandlerOptions,
  type HttpContextOptions,
  sessionMiddleware,
  type WsContextOptions,
  webSocketOptions,
} from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { admin } from 'better-auth/plugins'
import { WebSocketServer } from 'ws'
import { freePort } from '../../../core/test/support/free-port.ts'
import { cookieOf, createAuth, PASSWORD } from '../better-auth/create-auth.ts'
import { bundlePage } from './bundle-page.ts'

interface Context extends ReturnType<ReturnType<typeof betterAuthGuard>['http']> {
  readonly db: ReturnType<ReturnType<typeof betterAuthGuard>['attach']>
}

const t = initTRPC.context<Context>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)

const router = t.router({
  me: protectedProcedure.query(({ ctx }) => ctx.user.email),
  names: protectedProcedure.input(String).subscription(async function* ({ ctx }) {
    while (!ctx.auth.signal.aborted) {
      yield ctx.user.email
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }),
})
export type BetterAuthRouter = typeof router

interface BetterAuthSite extends AsyncDisposable {
  readonly origin: string
  /** Bans a user, as an admin. */
  ban(email: string): Promise<void>
}

/** Serves a page with the clients of Better Auth and tRPC, and both servers, on one origin. */
export async function serveBetterAuth(): Promise<BetterAuthSite> {
  const script = await bundlePage(fileURLToPath(new URL('./pages/better-auth-page.ts', import.meta.url)))
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const { auth, database } = await createAuth({
    baseURL: origin,
    rateLimit: { enabled: false },
    plugins: [admin()],
  })
  const guard = betterAuthGuard(auth)
  const httpContext = (o: HttpContextOptions) => ({ ...guard.http(o), db: guard.attach(database) })
  const wsContext = (o: WsContextOptions) => ({ ...guard.ws(o), db: guard.attach(database) })

  const server = createServer(
    getRequestListener((req) => {
      const { pathname, search } = new URL(req.url)
      if (search.includes('disableCookieCache')) return auth.handler(req).then(afterOthers)
      if (pathname.startsWith('/api/auth/')) return auth.handler(req)
      if (pathname === '/page.js')
        return new Response(script, { headers: { 'content-type': 'text/javascript' } })
      if (!pathname.startsWith('/trpc/'))
        return new Response(PAGE, { headers: { 'content-type': 'text/html; charset=utf-8' } })
      return fetchRequestHandler({
        router,
        req,
        endpoint: '/trpc',
        createContext: httpContext,
        responseMeta: guard.responseMeta,
        ...authHandlerOptions,
      })
    }),
  )
  const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(guard.config) })
  applyWSSHandler({ wss, router, createContext: wsContext, ...authHandlerOptions })
  await new Promise<void>((resolve) => server.listen(port, resolve))
  return {
    origin,
    async ban(email) {
      const { headers } = await auth.api.signUpEmail({
        body: { name: 'Root', email: `root-${email}`, password: PASSWORD },
        returnHeaders: true,
      })
      database.prepare(`update user set role = 'admin' where email = ?`).run(`root-${email}`)
      const row: unknown = database.prepare('select id from user where email = ?').pluck().get(email)
      await auth.api.banUser({
        headers: new Headers({ cookie: cookieOf(headers) }),
        body: { userId: String(row) },
      })
    },
    async [Symbol.asyncDispose]() {
      for (const socket of wss.clients) socket.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Delays a response, so a browser gets it after those of later requests. */
async function afterOthers(response: Response): Promise<Response> {
  await new Promise((resolve) => setTimeout(resolve, 100))
  return response
}

const PAGE = `<!doctype html><html lang="en"><head><title>Page</title></head>
<body><script src="/page.js"></script></body></html>`
