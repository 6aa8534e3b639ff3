import { refusalMiddleware, requireOrganizationRole } from '@sallyport/trpc'
import * as z from 'zod'
import { getAuth } from '../get-auth.ts'
import { protectedProcedure, router } from '../procedures.ts'

/** For what calls `auth.api`, whose refusals keep their code. */
const procedure = protectedProcedure.use(refusalMiddleware)

export const organizationsRouter = router({
  create: procedure
    .input(z.object({ name: z.string() }))
    .mutation(({ ctx, input }) => getAuth(ctx).api.createOrganization(input)),

  list: procedure.query(({ ctx }) => getAuth(ctx).api.listOrganizations()),

  /** Which one the session works in. */
  activate: procedure
    .input(z.object({ organizationId: z.string().nullable() }))
    .mutation(({ ctx, input }) => getAuth(ctx).api.setActiveOrganization(input)),

  invite: procedure
    .use(requireOrganizationRole('owner', 'admin'))
    .input(z.object({ email: z.string(), role: z.string() }))
    .mutation(({ ctx, input }) =>
      getAuth(ctx).api.inviteMember({ organizationId: ctx.organization.id, ...input }),
    ),

  join: procedure
    .input(z.object({ token: z.string() }))
    .mutation(({ ctx, input }) => getAuth(ctx).api.acceptInvitation(input)),

  /** Of the organization that the session works in. A query goes by `ctx.session`. */
  members: protectedProcedure
    .use(requireOrganizationRole('owner', 'admin', 'member'))
    .query(({ ctx }) =>
      ctx.db
        .selectFrom('member')
        .innerJoin('user', 'user.id', 'member.userId')
        .select(['user.id', 'user.name', 'member.role'])
        .where('member.organizationId', '=', ctx.organization.id)
        .orderBy('user.name')
        .execute(),
    ),
})
