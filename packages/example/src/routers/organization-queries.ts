import { requireOrganizationRole } from '@sallyport/trpc'
import { protectedProcedure } from '../procedures.ts'
import { getSession } from '../session.ts'

/** Queries read the session and the tables directly, so this module never imports the auth definition. */
export const organizationQueries = {
  /** The organizations of the caller, and the one that their session works in. */
  list: protectedProcedure.query(async ({ ctx }) => {
    const { userId, activeOrganizationId } = await getSession(ctx)
    const organizations = await ctx.db
      .selectFrom('member')
      .innerJoin('organization', 'organization.id', 'member.organizationId')
      .select(['organization.id', 'organization.name', 'member.role'])
      .where('member.userId', '=', userId)
      .orderBy('organization.name')
      .execute()
    return { organizations, activeId: activeOrganizationId }
  }),

  /** The members of the organization that the session works in. */
  members: protectedProcedure
    .use(requireOrganizationRole('owner', 'admin', 'member'))
    .query(({ ctx }) =>
      ctx.db
        .selectFrom('member')
        .innerJoin('user', 'user.id', 'member.userId')
        .select(['user.id', 'user.name', 'member.role', 'user.email'])
        .where('member.organizationId', '=', ctx.organization.id)
        .orderBy('user.name')
        .execute(),
    ),
}
