import type { AuthConfig, AuthDatabase } from '@sallyport/core'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { createAuthContext, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'

/** Opens a guarded stream for the session of a cookie, in this process. */
export type OpenStream = (cookie: string, db: AuthDatabase) => Promise<Stream>

export interface Stream {
  /** Resolves with the time at which the guard ends the stream. */
  readonly ended: Promise<number>
}

/** Creates streams without sockets, which would take more time and memory than the guard. */
export function createOpener(config: AuthConfig): OpenStream {
  const t = initTRPC.context<DatabaseContext>().create()
  const router = t.router({
    stream: t.procedure.use(sessionMiddleware).subscription(async function* ({ ctx: { auth } }) {
      yield 'open'
      await new Promise((resolve) => auth.signal.addEventListener('abort', resolve, { once: true }))
    }),
  })
  const createCaller = t.createCallerFactory(router)
  const context = createAuthContext(config)

  return async (cookie, db) => {
    const { auth } = context.headers(new Headers({ cookie, [CLIENT_HEADER]: '1' }))
    const stream = await createCaller({ auth, db }).stream()
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const ended = iterator.next().then(timeOf, timeOf)
    // Awaited later.
    ended.catch(() => {})
    return { ended }
  }
}

function timeOf(end: unknown): number {
  if (end instanceof TRPCError && end.code === 'UNAUTHORIZED') return performance.now()
  throw new Error('A stream of this bench ended without a rejection', { cause: end })
}
