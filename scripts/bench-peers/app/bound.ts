import { initTRPC } from '@trpc/server'
import { serveRouter } from './from-headers.ts'
import { GREETING, type Peer } from './peer.ts'

/** The bound: a middleware that checks nothing and adds one member to the context. */
export async function open(): Promise<Peer> {
  const t = initTRPC.context<object>().create()
  const bound = t.procedure.use(async ({ next }) => next({ ctx: { session: GREETING } }))
  const query = bound.query(() => GREETING)
  const router = t.router({ guarded: query, checked: query, write: bound.mutation(() => GREETING) })
  return serveRouter(router, { createContext: async () => ({ session: null }) })
}
