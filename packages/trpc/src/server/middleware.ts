import type { Session } from '@sallyport/core'
import type { TRPCMiddlewareFunction } from '@trpc/server'
import type { AuthContext, StoreContext } from './context.ts'

/**
 * A middleware for `.use()` on any procedure whose context has `NeededContext`. If the context lacks a
 * member, the compiler's message says what to add.
 */
export type Middleware<NeededContext, AddedContext> = <Context>(
  options: Omit<OptionsOf<NeededContext>, 'ctx'> & {
    // The compiler reports the first type that doesn't match, so the hint comes before the needed context. A
    // generic context matches the needed context alone.
    ctx: NeededContext | (Context & Hint<Context, NeededContext> & NeededContext)
  },
) => ReturnType<TRPCMiddlewareFunction<NeededContext, object, object, AddedContext, unknown>>

type OptionsOf<Context> = Parameters<TRPCMiddlewareFunction<Context, object, object, object, unknown>>[0]

/** The part of the options of a guarded call that guards use. */
export type CallOptions<Context extends AuthContext = StoreContext> = Pick<
  OptionsOf<Context>,
  'ctx' | 'next' | 'signal' | 'type' | 'path'
>

/** A message that no context matches and that says what this one lacks; `unknown` if it lacks nothing. */
export type Hint<Context, NeededContext> = [Context] extends [NeededContext]
  ? unknown
  : [Context] extends [AuthContext]
    ? [NeededContext] extends [{ readonly session: Session }]
      ? [Context] extends [{ readonly session: Session }]
        ? {
            readonly session: 'Session has no active organization: use the sessionMiddleware of bindSession(), and add the plugin organization()'
          }
        : { readonly session: 'Context has no session: put .use(sessionMiddleware) before this middleware' }
      : {
          readonly db: 'Context has no db with an auth store: return the db of openSqlite() or openPostgres(), or withAuthStore(db, store), from createContext'
        }
    : 'Context has no auth: spread createAuthContext(...).http(options) into the object that createContext returns'
