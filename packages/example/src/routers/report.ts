import { rateLimit } from '@sallyport/trpc'
import type { TRPCRouterRecord } from '@trpc/server'
import * as z from 'zod'
import { authedAction } from '../authed-action.ts'
import { internal } from '../internal/references.ts'
import { writeReport } from '../report-service.ts'

/** Actions: they call the outside world, and reach the database by internal functions alone. Both processes serve them. */
export const report = {
  list: authedAction.query(({ ctx }) => ctx.runQuery(internal.report.list)),

  /** The client makes the id: a report that it asks for again is saved once. */
  generate: authedAction
    .use(rateLimit({ points: 100, duration: 60 }))
    .input(z.object({ id: z.uuid(), title: z.string().trim().min(1).max(200) }))
    .mutation(async ({ ctx, input: { id, title } }) => {
      const text = await writeReport({ title, locale: ctx.user.locale }, ctx.auth)
      return ctx.runMutation(internal.report.save, { id, title, text }, { idempotencyKey: id })
    }),
} satisfies TRPCRouterRecord
