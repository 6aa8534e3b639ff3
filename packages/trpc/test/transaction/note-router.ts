import type { Session } from '@sallyport/core'
import type { AuthTables } from '@sallyport/core/auth'
import {
  authErrorData,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
  requireRole,
  type SensitiveSessionContext,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Transaction } from 'kysely'
import type { AppKysely, NoteTables } from './open-app.ts'

/** The app's transaction. */
export type NoteTransaction = Transaction<AuthTables & NoteTables>

/** What the test runs during a call. */
export interface Script {
  /** After the guard accepted the call, before the locks. */
  before?(session: Session): Promise<unknown>
  /** In the transaction, after its note was written. */
  inside?(trx: NoteTransaction, ctx: NoteContext & SensitiveSessionContext): Promise<unknown>
}

export interface NoteContext extends DatabaseContext {
  readonly db: AppKysely
  readonly script: Script
}

/** How recent a sign-in or the proof of a factor must be, in seconds. */
export const MAX_AGE = 300

const t = initTRPC.context<NoteContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})

/** Writes a note with the session's id as its text. */
async function write({ ctx }: { ctx: NoteContext & SensitiveSessionContext }): Promise<string> {
  await ctx.script.before?.(ctx.session)
  return ctx.transaction(async (trx) => {
    await trx.insertInto('note').values({ id: crypto.randomUUID(), text: ctx.session.id }).execute()
    await ctx.script.inside?.(trx, ctx)
    return ctx.session.id
  })
}

const sensitive = t.procedure.use(sensitiveSessionMiddleware)

export const noteRouter = t.router({
  write: sensitive.mutation(write),
  fresh: t.procedure.use(createSensitiveSessionMiddleware({ maxAge: MAX_AGE })).mutation(write),
  withFactor: t.procedure
    .use(createSensitiveSessionMiddleware({ factor: 'totp', maxAge: MAX_AGE }))
    .mutation(write),
  asAdmin: sensitive.use(requireRole('admin')).mutation(write),
  /** An earlier guard checks the role. */
  asAdminBefore: t.procedure
    .use(sessionMiddleware)
    .use(requireRole('admin'))
    .use(sessionMiddleware)
    .use(sensitiveSessionMiddleware)
    .mutation(write),
  twice: sensitive.mutation(async (options) => [await write(options), await write(options)]),
})

export const createNoteCaller = t.createCallerFactory(noteRouter)
