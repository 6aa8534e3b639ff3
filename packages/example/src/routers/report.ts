import { rateLimit } from '@sallyport/trpc'
import type { TRPCRouterRecord } from '@trpc/server'
import * as z from 'zod'
import { authedAction } from '../authed-action.ts'
import { internal } from '../internal/references.ts'
import { tell } from '../live.ts'
import { progressOf, withProgress } from '../report-progress.ts'
import { writeReport } from '../report-service.ts'

/** Actions: they call the outside world, and reach the database by internal functions alone. Both processes serve them. */
export const report = {
  list: authedAction.query(({ ctx }) => ctx.runQuery(internal.report.list)),

  /** The client makes the id: a report that it asks for again is saved once. */
  generate: authedAction
    .use(rateLimit({ points: 100, duration: 60 }))
    .input(
      z.object({
        id: z.uuid(),
        title: z.string().trim().min(1, 'Give it a title').max(200, 'A title has at most 200 characters'),
      }),
    )
    .mutation(async ({ ctx, input: { id, title } }) => {
      const order = { title, locale: ctx.user.locale }
      const text = await withProgress({ userId: ctx.session.userId, id }, (onProgress) =>
        writeReport(order, { signal: ctx.auth.signal, onProgress }),
      )
      const saved = await ctx.runMutation(internal.report.save, { id, title, text }, { idempotencyKey: id })
      tell(ctx.session.userId, 'reports')
      return saved
    }),

  /** How far a report of the caller is that this process writes, in percent. */
  progress: authedAction
    .input(z.object({ id: z.uuid() }))
    .subscription(({ ctx, input: { id } }) =>
      progressOf({ userId: ctx.session.userId, id }, ctx.auth.signal),
    ),
} satisfies TRPCRouterRecord
