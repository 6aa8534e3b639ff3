import { on } from 'node:events'
import type { AuthConfig, AuthDatabase } from '@sallyport/core'
import type { AuthTables } from '@sallyport/core/auth'
import type { LockSession } from '@sallyport/core/sqlite'
import {
  authErrorData,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC, tracked } from '@trpc/server'
import { type Kysely, sql } from 'kysely'
import * as z from 'zod'
import type { Ticks } from './ticks.ts'

/** The app's own table. */
export type NoteTables = { note: { id: string } }
export type AppKysely = Kysely<AuthTables & NoteTables> & AuthDatabase

export interface CopiesContext extends DatabaseContext {
  readonly db: AppKysely
  readonly config: AuthConfig
  readonly lockSession: LockSession
  readonly ticks: Ticks
  /** Gated procedures wait for this between the guard and the transaction. */
  readonly gate: () => Promise<void>
}

/** How recent a proof must be for `fresh`, in seconds. */
const MAX_AGE = 300

const t = initTRPC.context<CopiesContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const guarded = t.procedure.use(sessionMiddleware)
const note = z.object({ id: z.string() })

export const appRouter = t.router({
  me: guarded.query(({ ctx }) => ctx.session.id),
  write: guarded.input(note).mutation(async ({ ctx, input }) => {
    await ctx.db.insertInto('note').values(input).execute()
    return ctx.session.id
  }),
  fresh: t.procedure
    .use(createSensitiveSessionMiddleware({ maxAge: MAX_AGE }))
    .mutation(({ ctx }) => ctx.session.id),
  transfer: t.procedure
    .use(sensitiveSessionMiddleware)
    .input(note)
    .mutation(async ({ ctx, input }) => {
      await ctx.gate()
      await ctx.transaction((trx) => trx.insertInto('note').values(input).execute())
      return ctx.session.id
    }),
  locked: guarded.input(note).mutation(async ({ ctx, input }) => {
    await ctx.gate()
    await ctx.db.transaction().execute(async (trx) => {
      await ctx.lockSession((...query) => sql(...query).execute(trx), ctx.identity, ctx.config)
      await trx.insertInto('note').values(input).execute()
    })
    return ctx.session.id
  }),
  /** Emits all ticks after the last one that the caller received, or from now on. */
  ticks: guarded.input(z.object({ lastEventId: z.string() }).optional()).subscription(async function* ({
    ctx,
    input,
  }) {
    const { emitter } = ctx.ticks
    const ticked = on(emitter, 'tick', { signal: ctx.auth.signal })
    for (let number = Number(input?.lastEventId ?? ctx.ticks.latest); ; await ticked.next())
      while (number < ctx.ticks.latest) yield tracked(String(++number), number)
  }),
})

export type AppRouter = typeof appRouter
export const createCaller = t.createCallerFactory(appRouter)
