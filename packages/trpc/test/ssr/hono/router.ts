import { authErrorData, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)

/** A user's text that attacks the page that shows it. */
export const EVIL_TEXT = '</script><script>window.harmed = true</script><!--'

export const appRouter = t.router({
  me: protectedProcedure.query(({ ctx }) => ({ id: ctx.user.id })),
  notes: t.router({
    list: protectedProcedure.query(({ ctx }) => [
      { id: 'n1', text: `A note of ${ctx.user.id}` },
      { id: 'n2', text: EVIL_TEXT },
    ]),
  }),
})

export type AppRouter = typeof appRouter
