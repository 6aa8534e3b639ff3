import type { Session, SessionUser } from '@sallyport/core'
import type { ActiveOrganization } from './require-condition.ts'
import type { PermissionGuards } from './require-permission.ts'

/** The guards for another library's sessions, with their types: the result of `betterAuthGuard`. */
export interface GuardSource extends PermissionGuards {
  readonly $Infer: { readonly Session: { readonly session: object; readonly user: object } }
}

/** Our members, then those of the library. The session token is a credential, so resolvers never see it. */
export type GuardedSession<Source extends GuardSource> = SessionWith<
  Source['$Infer']['Session']['session'],
  Source['$Infer']['Session']['user']
>

type SessionWith<OfSession, OfUser> = Omit<Session, 'user'> &
  Readonly<Omit<OfSession, keyof Session | keyof Columns | 'token'>> &
  ColumnsOf<OfSession> & { readonly user: SessionUser & Readonly<Omit<OfUser, keyof SessionUser>> }

/** Columns of plugins that are never undefined. */
interface Columns extends ActiveOrganization {
  readonly impersonatedBy: string | null
}

type ColumnsOf<OfSession> = ('activeOrganizationId' extends keyof OfSession ? ActiveOrganization : unknown) &
  ('impersonatedBy' extends keyof OfSession ? Pick<Columns, 'impersonatedBy'> : unknown)
