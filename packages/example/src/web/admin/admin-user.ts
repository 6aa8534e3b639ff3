import type { inferRouterOutputs } from '@trpc/server'
import type { AppRouter } from '../../routers/app.ts'

type Answers = inferRouterOutputs<AppRouter>['admin']

/** A user as admins see them. */
export type AdminUser = Answers['users'][number]

/** A row of the audit table, with the emails of those whom it names. */
export type AuditRecord = Answers['audit'][number]
