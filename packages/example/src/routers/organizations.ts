import { authErrorMiddleware, requireOrganizationRole } from '@sallyport/trpc'
import * as z from 'zod'
import { getAuth } from '../get-auth.ts'
import { accountProcedure, router } from '../procedures.ts'
import { organizationQueries } from './organization-queries.ts'

/** For procedures that call `auth.api`. Its errors keep their code. */
const procedure = accountProcedure.use(authErrorMiddleware)

export const organizationsRouter = router({
  ...organizationQueries,

  create: procedure
    .input(z.object({ name: z.string() }))
    .mutation(({ ctx, input }) => getAuth(ctx).api.createOrganization(input)),

  /** Switches the organization that the session works in. */
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
})
