import type { ColumnSource, SessionOf, UserOf } from '@sallyport/core/auth'
import type { DatabaseContext, StoreContext } from './context.ts'
import { getSession } from './get-session.ts'
import type { SessionContext } from './guard.ts'
import type { Middleware } from './middleware.ts'
import {
  createSensitiveSessionMiddleware,
  type OptionalSessionContext,
  optionalSessionMiddleware,
  type SensitiveSessionOptions,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from './session-middleware.ts'
import type { TransactionContext } from './transaction.ts'

interface Typed<Source extends ColumnSource> {
  readonly session: SessionOf<Source>
  readonly user: UserOf<Source>
}

/** The members that the bound `sessionMiddleware` adds to the context. */
export type SessionContextOf<Source extends ColumnSource> = Omit<SessionContext, 'session' | 'user'> &
  Typed<Source>

/** The members that the bound `sensitiveSessionMiddleware` adds to the context. */
export type SensitiveSessionContextOf<Source extends ColumnSource> = SessionContextOf<Source> &
  TransactionContext

/** The members that the bound `optionalSessionMiddleware` adds to the context. */
export type OptionalSessionContextOf<Source extends ColumnSource> = Pick<
  OptionalSessionContext,
  'identity'
> & { readonly [Name in keyof Typed<Source>]: Typed<Source>[Name] | null }

/** `getSession` and the session middlewares, with the types of added columns. */
export interface BoundSession<Source extends ColumnSource> {
  getSession(ctx: StoreContext): Promise<SessionOf<Source>>
  readonly sessionMiddleware: Middleware<DatabaseContext, SessionContextOf<Source>>
  readonly optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContextOf<Source>>
  readonly sensitiveSessionMiddleware: Middleware<DatabaseContext, SensitiveSessionContextOf<Source>>
  createSensitiveSessionMiddleware(
    options: SensitiveSessionOptions,
  ): Middleware<DatabaseContext, SensitiveSessionContextOf<Source>>
}

/**
 * Returns the session middlewares with the types of added columns: `ctx.session` and `ctx.user` have the
 * columns of an auth definition, or the `columns` of a store on another library's tables. Import only its
 * type.
 *
 * @example export const { getSession, sessionMiddleware } = bindSession<typeof authDefinition>()
 */
export function bindSession<Source extends ColumnSource>(): BoundSession<Source>
export function bindSession(): object {
  return {
    getSession,
    sessionMiddleware,
    optionalSessionMiddleware,
    sensitiveSessionMiddleware,
    createSensitiveSessionMiddleware,
  }
}
