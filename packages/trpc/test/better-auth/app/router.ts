import { requireOrganizationRole, requireRole } from '@sallyport/trpc'
import {
  forbidImpersonation,
  paymentProcedure,
  protectedProcedure,
  publicProcedure,
  requireOrganizationPermission,
  requirePermission,
  router,
} from './procedures.ts'

export const appRouter = router({
  me: protectedProcedure.query(({ ctx: { user } }) => user.email),
  visitor: publicProcedure.query(({ ctx: { user } }) => user?.email ?? null),
  rename: protectedProcedure.mutation(() => 'renamed'),
  pay: paymentProcedure.query(() => 'paid'),
  ownAccount: protectedProcedure.use(forbidImpersonation).query(() => 'own'),
  admin: protectedProcedure.use(requireRole('admin')).query(() => 'admin'),
  createProject: protectedProcedure.use(requirePermission({ project: ['create'] })).query(() => 'created'),
  editors: protectedProcedure.use(requirePermission({ project: ['create'] })).subscription(async function* ({
    ctx,
  }) {
    yield 'ready'
    await new Promise((resolve) => ctx.auth.signal.addEventListener('abort', resolve))
  }),
  staff: protectedProcedure.use(requireOrganizationRole('reader')).query(({ ctx }) => ctx.organization.role),
  payInvoice: protectedProcedure
    .use(requireOrganizationPermission({ invoice: ['pay'] }))
    .query(({ ctx }) => ctx.organization.role),
})
