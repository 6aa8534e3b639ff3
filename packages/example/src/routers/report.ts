import { rateLimit } from '@sallyport/trpc'
import type { TRPCRouterRecord } from '@trpc/server'
import * as z from 'zod'
import { authedAction } from '../authed-action.ts'
import { internal } from '../internal/references.ts'
import { publish } from '../live.ts'
import { progressOf, withProgress } from '../report-progress.ts'
import { writeReport } from '../report-service.ts'

/**
 * Actions: they call an outside service, and use the database only through internal functions. Both processes
 * serve them.
 */
export const report = {
  list: authedAction.query(({ ctx }) => ctx.runQuery(internal.report.list)),

  /** The client creates the id, so a repeated request saves the report once. */
  generate: authedAction
    .use(rateLimit({ points: 100, duration: 60 }))
    .input(
      z.object({
        id: z.uuid(),
        title: z.string().trim().min(1, 'Enter a title').max(200, 'Enter at most 200 characters'),
      }),
    )
    .mutation(async ({ ctx, input: { id, title } }) => {
      const request = { title, locale: ctx.user.locale }
      const text = await withProgress({ userId: ctx.session.userId, id }, (onProgress) =>
        writeReport(request, { signal: ctx.auth.signal, onProgress }),
      )
      const saved = await ctx.runMutation(internal.report.save, { id, title, text }, { idempotencyKey: id })
      publish(ctx.session.userId, 'reports')
      return saved
    }),

  /** Streams the progress of a caller's report that this process is writing, in percent. */
  progress: authedAction
    .input(z.object({ id: z.uuid() }))
    .subscription(({ ctx, input: { id } }) =>
      progressOf({ userId: ctx.session.userId, id }, ctx.auth.signal),
    ),
} satisfies TRPCRouterRecord
