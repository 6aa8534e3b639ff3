import { adminProcedure, router } from '../procedures.ts'

export const adminRouter = router({
  users: adminProcedure.query(async ({ ctx }) => {
    const users = await ctx.db
      .selectFrom('user')
      .select(['id', 'name', 'email', 'role', 'banned'])
      .orderBy('email')
      .limit(100)
      .execute()
    return users.map((user) => ({ ...user, banned: Boolean(user.banned) }))
  }),
})
