import type { inferRouterOutputs } from '@trpc/server'
import type { AppRouter } from '../../routers/app.ts'

type Outputs = inferRouterOutputs<AppRouter>['admin']

/** A user in the table. */
export type ListedUser = Outputs['users']['users'][number]

/** A user on their own page. */
export type AdminUser = Outputs['user']

/** A record of the audit trail, with the emails of the users in it. */
export type AuditRecord = Outputs['audit']['records'][number]
