import type { ColumnSource, SessionOf } from '@sallyport/core/auth'
import type { DatabaseContext, StoreContext } from './context.ts'
import { getSession } from './get-session.ts'
import type { SessionContext } from './guard.ts'
import type { GuardedSession, GuardSource } from './guard-source.ts'
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

export type { GuardSource } from './guard-source.ts'

/** What decides the types of `ctx.session` and `ctx.user`. */
export type SessionSource = ColumnSource | GuardSource

interface Typed<Source extends SessionSource> {
  readonly session: SessionType<Source>
  readonly user: SessionType<Source>['user']
}

type SessionType<Source extends SessionSource> = Source extends GuardSource
  ? GuardedSession<Source>
  : Source extends ColumnSource
    ? SessionOf<Source>
    : never

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
  getSession(ctx: StoreContext): Promise<SessionType<Source>>
  readonly sessionMiddleware: Middleware<DatabaseContext, SessionContextOf<Source>>
  readonly optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContextOf<Source>>
  readonly sensitiveSessionMiddleware: Middleware<DatabaseContext, SensitiveSessionContextOf<Source>>
  createSensitiveSessionMiddleware(
    options?: SensitiveSessionOptions<SessionType<Source>>,
  ): Middleware<DatabaseContext, SensitiveSessionContextOf<Source>>
}

/** The guards of an app that signs users in with another library. */
export type BoundGuard<Source extends GuardSource> = BoundSession<Source> &
  Pick<Source, keyof PermissionGuards>

/**
 * Returns the session middlewares with the types of added columns: `ctx.session` and `ctx.user` have the
 * columns of an auth definition, or the `columns` of a store on another library's tables. With a guard of
 * Better Auth, they have the types of its `$Infer`, and there are guards for its permissions. Import only the
 * type.
 *
 * @example export const { getSession, sessionMiddleware } = bindSession<typeof authDefinition>()
 * @example export const { sessionMiddleware, requirePermission } = bindSession<typeof guard>()
 */
export function bindSession<Source extends GuardSource>(): BoundGuard<Source>
export function bindSession<Source extends ColumnSource>(): BoundSession<Source>
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
