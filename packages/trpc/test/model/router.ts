import {
  authErrorData,
  type DatabaseContext,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const guarded = t.procedure.use(sessionMiddleware)

/** Every procedure returns the id of the caller's session. */
export const router = t.router({
  read: guarded.query(({ ctx }) => ctx.session.id),
  write: t.procedure.use(sensitiveSessionMiddleware).mutation(async ({ ctx }) => {
    await ctx.transaction(async () => {})
    return ctx.session.id
  }),
  watch: guarded.subscription(async function* ({ ctx }) {
    const { signal } = ctx.auth
    yield ctx.session.id
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  }),
})

export const createCaller = t.createCallerFactory(router)
