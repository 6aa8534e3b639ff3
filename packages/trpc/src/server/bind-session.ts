import type { AuthDefinition, SessionOf, UserOf } from '@sallyport/core/auth'
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

interface Typed<Definition extends AuthDefinition> {
  readonly session: SessionOf<Definition>
  readonly user: UserOf<Definition>
}

/** The members that the bound `sessionMiddleware` adds to the context. */
export type SessionContextOf<Definition extends AuthDefinition> = Omit<SessionContext, 'session' | 'user'> &
  Typed<Definition>

/** The members that the bound `sensitiveSessionMiddleware` adds to the context. */
export type SensitiveSessionContextOf<Definition extends AuthDefinition> = SessionContextOf<Definition> &
  TransactionContext

/** The members that the bound `optionalSessionMiddleware` adds to the context. */
export type OptionalSessionContextOf<Definition extends AuthDefinition> = Pick<
  OptionalSessionContext,
  'identity'
> & { readonly [Name in keyof Typed<Definition>]: Typed<Definition>[Name] | null }

/** `getSession` and the session middlewares, with the types of a definition. */
export interface BoundSession<Definition extends AuthDefinition> {
  getSession(ctx: StoreContext): Promise<SessionOf<Definition>>
  readonly sessionMiddleware: Middleware<DatabaseContext, SessionContextOf<Definition>>
  readonly optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContextOf<Definition>>
  readonly sensitiveSessionMiddleware: Middleware<DatabaseContext, SensitiveSessionContextOf<Definition>>
  createSensitiveSessionMiddleware(
    options: SensitiveSessionOptions,
  ): Middleware<DatabaseContext, SensitiveSessionContextOf<Definition>>
}

/**
 * Returns the session middlewares with the types of a definition: `ctx.session` and `ctx.user` have the
 * columns that it adds. Import only the type of the definition.
 *
 * @example export const { getSession, sessionMiddleware } = bindSession<typeof authDefinition>()
 */
export function bindSession<Definition extends AuthDefinition>(): BoundSession<Definition>
export function bindSession(): object {
  return {
    getSession,
    sessionMiddleware,
    optionalSessionMiddleware,
    sensitiveSessionMiddleware,
    createSensitiveSessionMiddleware,
  }
}
