import type { ActiveOrganizationResponse, Session, SessionUser } from '@sallyport/core'
import type { ColumnSource, SessionOf } from '@sallyport/core/auth'
import type { DatabaseContext, StoreContext } from './context.ts'
import { getSession } from './get-session.ts'
import type { SessionContext } from './guard.ts'
import type { Middleware } from './middleware.ts'
import { type PermissionGuards, permissionGuards } from './require-permission.ts'
import {
  createSensitiveSessionMiddleware,
  type OptionalSessionContext,
  optionalSessionMiddleware,
  type SensitiveSessionOptions,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from './session-middleware.ts'
import type { TransactionContext } from './transaction.ts'

/** The guards for another library's sessions, with their types: the result of `betterAuthGuard`. */
export interface GuardSource extends PermissionGuards {
  readonly $Infer: { readonly Session: { readonly session: object; readonly user: object } }
}

/** What decides the types of `ctx.session` and `ctx.user`. */
export type SessionSource = ColumnSource | GuardSource

interface Typed<Source extends SessionSource> {
  readonly session: SessionType<Source>
  readonly user: SessionType<Source>['user']
}

// Not exported, so the declarations of an app's procedures have the members, not the type of its guard.
type SessionType<Source extends SessionSource> = Source extends GuardSource
  ? GuardedSession<Source['$Infer']['Session']['session'], Source['$Infer']['Session']['user']>
  : Source extends ColumnSource
    ? SessionOf<Source>
    : never

/** Our members, then those of the library. The session token is a credential, so resolvers never see it. */
type GuardedSession<OfSession, OfUser> = Omit<Session, 'user'> &
  Readonly<Omit<OfSession, keyof Session | keyof ActiveOrganizationResponse | 'impersonatedBy' | 'token'>> &
  ColumnsOf<OfSession> & { readonly user: SessionUser & Readonly<Omit<OfUser, keyof SessionUser>> }

/** Columns of plugins that are never undefined. */
type ColumnsOf<OfSession> = ('activeOrganizationId' extends keyof OfSession
  ? Readonly<ActiveOrganizationResponse>
  : unknown) &
  ('impersonatedBy' extends keyof OfSession ? { readonly impersonatedBy: string | null } : unknown)

/** The members that the bound `sessionMiddleware` adds to the context. */
export type SessionContextOf<Source extends SessionSource> = Omit<SessionContext, 'session' | 'user'> &
  Typed<Source>

/** The members that the bound `sensitiveSessionMiddleware` adds to the context. */
export type SensitiveSessionContextOf<Source extends SessionSource> = SessionContextOf<Source> &
  TransactionContext

/** The members that the bound `optionalSessionMiddleware` adds to the context. */
export type OptionalSessionContextOf<Source extends SessionSource> = Pick<
  OptionalSessionContext,
  'identity'
> & { readonly [Name in keyof Typed<Source>]: Typed<Source>[Name] | null }

/** `getSession` and the session middlewares, with the types of added columns. */
export interface BoundSession<Source extends SessionSource> {
  readonly getSession: (ctx: StoreContext) => Promise<SessionType<Source>>
  readonly sessionMiddleware: Middleware<DatabaseContext, SessionContextOf<Source>>
  readonly optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContextOf<Source>>
  readonly sensitiveSessionMiddleware: Middleware<DatabaseContext, SensitiveSessionContextOf<Source>>
  readonly createSensitiveSessionMiddleware: (
    options?: SensitiveSessionOptions<SessionType<Source>>,
  ) => Middleware<DatabaseContext, SensitiveSessionContextOf<Source>>
}

/**
 * Returns the session middlewares with the types of added columns: `ctx.session` and `ctx.user` have the
 * columns of an auth definition, or the `columns` of a store on another library's tables. With a guard of
 * Better Auth, they have the types of its `$Infer`, and there are guards for its permissions. Import only the
 * type.
 *
 * @example export const { getSession, sessionMiddleware } = bindSession<typeof authDefinition>()
 * @example export const { sessionMiddleware, requirePermission } = bindSession<typeof guard>()
 */
export function bindSession<Source extends SessionSource = GuardSource>(): BoundSession<Source> &
  (Source extends GuardSource ? Pick<Source, keyof PermissionGuards> : unknown)
export function bindSession(): object {
  return {
    getSession,
    sessionMiddleware,
    optionalSessionMiddleware,
    sensitiveSessionMiddleware,
    createSensitiveSessionMiddleware,
    ...permissionGuards,
  }
}
