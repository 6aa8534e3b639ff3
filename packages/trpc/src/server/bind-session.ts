import type { AuthDefinition, SessionOf, UserOf } from '@sallyport/core/auth'
import type { DatabaseContext, StoreContext } from './context.ts'
import { getSession } from './get-session.ts'
import type { Middleware, SessionContext } from './guard.ts'
import { type OptionalSessionContext, optionalSessionMiddleware } from './optional-session-middleware.ts'
import {
  createSensitiveSessionMiddleware,
  type SensitiveSessionContext,
  type SensitiveSessionOptions,
  sensitiveSessionMiddleware,
} from './sensitive-session-middleware.ts'
import { sessionMiddleware } from './session-middleware.ts'

interface Typed<Definition extends AuthDefinition> {
  readonly session: SessionOf<Definition>
  readonly user: UserOf<Definition>
}

/** {@link SessionContext} with the columns that a definition adds. */
export type SessionContextOf<Definition extends AuthDefinition> = Omit<SessionContext, 'session' | 'user'> &
  Typed<Definition>

/** {@link SensitiveSessionContext} with the columns that a definition adds. */
export type SensitiveSessionContextOf<Definition extends AuthDefinition> = Omit<
  SensitiveSessionContext,
  'session' | 'user'
> &
  Typed<Definition>

/** {@link OptionalSessionContext} with the columns that a definition adds. */
export type OptionalSessionContextOf<Definition extends AuthDefinition> = Omit<
  OptionalSessionContext,
  'session' | 'user'
> & { readonly [Name in keyof Typed<Definition>]: Typed<Definition>[Name] | null }

/** What {@link bindSession} returns. */
export interface BoundSession<Definition extends AuthDefinition> {
  /** Reads the session again; throws as the middlewares do. */
  getSession(ctx: StoreContext): Promise<SessionOf<Definition>>
  /** Accepts calls that pass both steps. */
  readonly sessionMiddleware: Middleware<DatabaseContext, SessionContextOf<Definition>>
  /** Accepts anonymous calls, too; their session is null. */
  readonly optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContextOf<Definition>>
  /** Reads the session for the call alone, and adds `ctx.transaction`. */
  readonly sensitiveSessionMiddleware: Middleware<DatabaseContext, SensitiveSessionContextOf<Definition>>
  /** The same, with a `maxAge`. */
  createSensitiveSessionMiddleware(
    options: SensitiveSessionOptions,
  ): Middleware<DatabaseContext, SensitiveSessionContextOf<Definition>>
}

/**
 * Returns the session middlewares with the types of a definition: `ctx.session` and `ctx.user` have the columns that it adds. Import only the
 * type of the definition.
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
