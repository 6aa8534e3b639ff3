import {
  authErrorData,
  type DatabaseContext,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import superjson from 'superjson'
import * as z from 'zod'

const t = initTRPC.context<DatabaseContext>().create({
  transformer: superjson,
  errorFormatter: (o) => ({
    ...o.shape,
    data: { ...o.shape.data, auth: authErrorData(o), details: detailsOf(o.error.cause) },
  }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)

/** The cause of an error of the app. */
class Conflict extends Error {
  readonly details = new Map([['since', new Date('2026-11-21T10:00:00Z')]])
}

const detailsOf = (cause: unknown) => (cause instanceof Conflict ? cause.details : null)

const clock = protectedProcedure.subscription(async function* ({ ctx }) {
  yield { at: new Date('2026-11-21T12:00:00Z') }
  await new Promise((resolve) => ctx.auth.signal.addEventListener('abort', resolve))
})

/** A router whose results and errors need superjson. */
export const superjsonRouter = t.router({
  summary: protectedProcedure.query(({ ctx }) => ({
    userId: ctx.user.id,
    expiresAt: ctx.session.expiresAt,
    totals: new Map([['notes', 12n]]),
  })),
  notes: protectedProcedure
    .input(z.object({ cursor: z.date().optional() }))
    .query(({ input: { cursor = new Date('2026-11-21T00:00:00Z') } }) => ({
      days: new Set([cursor]),
      next: new Date(cursor.getTime() + 86_400_000),
    })),
  clock,
  /** The same, which the page reads over WebSocket. */
  socketClock: clock,
  save: t.procedure
    .use(sensitiveSessionMiddleware)
    .input(z.object({ at: z.date() }))
    .mutation(() => {
      throw new TRPCError({ code: 'CONFLICT', cause: new Conflict() })
    }),
})

export type SuperjsonRouter = typeof superjsonRouter
