import { createHash, randomBytes } from 'node:crypto'
import { protectedProcedure, router, sensitiveProcedure } from '../procedures.ts'

export const me = protectedProcedure.query(({ ctx: { session } }) => ({
  userId: session.userId,
  sessionId: session.id,
  email: session.user.email,
  role: session.user.role,
}))

export const accountRouter = router({
  /** Replaces the API key of the caller and returns it this one time. */
  rotateApiKey: sensitiveProcedure.mutation(async ({ ctx }) => {
    const apiKey = `key_${randomBytes(24).toString('base64url')}`
    const row = {
      hash: createHash('sha256').update(apiKey).digest('hex'),
      createdAt: new Date().toISOString(),
    }
    // Committed before the session is revoked, or not at all.
    await ctx.transaction((trx) =>
      trx
        .insertInto('apiKey')
        .values({ userId: ctx.session.userId, ...row })
        .onConflict((conflict) => conflict.column('userId').doUpdateSet(row))
        .execute(),
    )
    return { apiKey }
  }),
})
