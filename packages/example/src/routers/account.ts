import { createHash, randomBytes } from 'node:crypto'
import * as z from 'zod'
import { freshProcedure, protectedProcedure, router, sensitiveProcedure } from '../procedures.ts'

export const me = protectedProcedure.query(({ ctx: { session, user } }) => ({
  userId: session.userId,
  sessionId: session.id,
  name: user.name,
  email: user.email,
  role: user.role,
  locale: user.locale,
  isAnonymous: user.isAnonymous,
  deviceName: session.deviceName,
}))

export const accountRouter = router({
  /** Replaces the API key of the caller. Only this response contains it. */
  rotateApiKey: freshProcedure.mutation(async ({ ctx }) => {
    const apiKey = `key_${randomBytes(24).toString('base64url')}`
    const row = {
      hash: createHash('sha256').update(apiKey).digest('hex'),
      createdAt: new Date().toISOString(),
    }
    // Commits only if the session hasn't been revoked.
    await ctx.transaction((trx) =>
      trx
        .insertInto('apiKey')
        .values({ userId: ctx.session.userId, ...row })
        .onConflict((conflict) => conflict.column('userId').doUpdateSet(row))
        .execute(),
    )
    return { apiKey }
  }),

  /** Sets the name of the device: a column that this app adds to the session. */
  nameDevice: sensitiveProcedure
    .input(z.object({ deviceName: z.string().trim().min(1).max(100) }))
    .mutation(async ({ ctx, input }) => {
      await ctx.transaction((trx) =>
        trx.updateTable('session').set(input).where('id', '=', ctx.session.id).execute(),
      )
      return input
    }),
})
