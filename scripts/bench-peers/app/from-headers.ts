import { type AnyTRPCRouter, initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { GREETING, type Peer } from './peer.ts'

interface HeadersSource {
  getSession(headers: Headers): Promise<object | null>
  /** Serves `/api/auth`. */
  respondToAuth(request: Request): Promise<Response>
}

/** The setup of tRPC's documentation: `createContext` finds the session, and a middleware requires it. */
export function fromHeaders({ getSession, respondToAuth }: HeadersSource): Peer {
  const t = initTRPC.context<{ headers: Headers; session: object | null }>().create()
  const guarded = t.procedure.use(async ({ ctx, next }) => next({ ctx: { session: required(ctx.session) } }))
  const checked = t.procedure.use(async ({ ctx, next }) =>
    next({ ctx: { session: required(await getSession(ctx.headers)) } }),
  )
  const router = t.router({
    guarded: guarded.query(() => GREETING),
    checked: checked.query(() => GREETING),
    write: guarded.mutation(() => GREETING),
  })
  const createContext = async (headers: Headers) => ({ headers, session: await getSession(headers) })
  return serveRouter(router, { createContext, respondToAuth })
}

interface RouterOptions {
  createContext(headers: Headers): Promise<object>
  respondToAuth?(request: Request): Promise<Response>
}

/** Serves a router with tRPC's own adapters. */
export function serveRouter(router: AnyTRPCRouter, { createContext, respondToAuth }: RouterOptions): Peer {
  return {
    async respond(req) {
      if (respondToAuth !== undefined && new URL(req.url).pathname.startsWith('/api/auth/'))
        return respondToAuth(req)
      return fetchRequestHandler({
        endpoint: '/trpc',
        req,
        router,
        createContext: () => createContext(req.headers),
      })
    },
    acceptSockets(server) {
      applyWSSHandler({
        wss: new WebSocketServer({ server }),
        router,
        createContext: ({ req }) => createContext(new Headers({ cookie: req.headers.cookie ?? '' })),
      })
    },
  }
}

function required(session: object | null): object {
  if (session === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return session
}
