import { ConfigurationError, type RateLimit, type Session } from '@sallyport/core'
import { addressBuckets, checkRateLimit, hashSecret, rateLimited } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import type { StoreContext } from './context.ts'
import { reportError, toTRPCError } from './errors.ts'
import { storeOf } from './get-session.ts'
import type { Middleware } from './middleware.ts'

/** The context of {@link rateLimit}: with a session behind a session middleware. */
export type RateLimitContext = StoreContext & { readonly session?: Session | null | undefined }

export interface RateLimitOptions {
  /** The number of calls that are allowed. */
  readonly points: number
  /** Seconds from the first call until the limit starts over. */
  readonly duration: number
  /**
   * Which calls share a limit: those of a user, of an address (for IPv6 a /64, with ten times the points for
   * its /48), or of a name. With `user`, those of anonymous callers behind `optionalSessionMiddleware` are
   * limited by address. @default 'user' after a session middleware, else 'address'
   */
  readonly by?:
    | 'user'
    | 'address'
    | ((call: { ctx: RateLimitContext; path: string; input: unknown }) => string | Promise<string>)
}

/**
 * Rejects a call with `RATE_LIMITED` and `retryAfterSeconds` if there were too many. Each call, also in a
 * batch, uses a point. The points are in the database, so all processes share them.
 *
 * @throws ConfigurationError if `points` or `duration` is invalid
 * @example
 * export const sendMessage = protectedProcedure.use(rateLimit({ points: 10, duration: 60 })).mutation(send)
 */
export function rateLimit(options: RateLimitOptions): Middleware<StoreContext, object> {
  const { by } = options
  const limit = checkRateLimit('rateLimit', options)
  return async ({ ctx, path, getRawInput, next }) => {
    // An error of the app's function stays as it is.
    const name =
      typeof by === 'function' ? await digest(await by({ ctx, path, input: await getRawInput() })) : null
    const { config } = ctx.auth[authRequest]
    try {
      const buckets = name === null ? bucketsOf(by, ctx, limit) : [{ name: `name:${name}`, limit }]
      const { limits } = storeOf(ctx)
      if (limits === undefined)
        throw new ConfigurationError(
          'rateLimit: ctx.db carries no limits: use the db of openSqlite(), or withAuthStore(db, { ..., limits })',
        )
      for (const { name, limit } of buckets) {
        const retryAfterSeconds = await limits.consume(`procedure:${path}:${name}`, limit)
        if (retryAfterSeconds !== null)
          throw rateLimited(`procedure:${name.split(':')[0]}`, retryAfterSeconds, config)
      }
    } catch (error) {
      throw reportError(toTRPCError(error, { path }), { path, step: 'procedure' }, config)
    }
    return next()
  }
}

function bucketsOf(
  by: RateLimitOptions['by'],
  { auth, session }: RateLimitContext,
  limit: RateLimit,
): ReturnType<typeof addressBuckets> {
  if (by !== 'address' && session) return [{ name: `user:${session.userId}`, limit }]
  // Behind `optionalSessionMiddleware`, the session of an anonymous caller is null.
  if (by === 'user' && session === undefined)
    throw new ConfigurationError("rateLimit: by: 'user' needs a session middleware before it")
  return addressBuckets(auth.address(), limit).map(({ name, limit }) => ({ name: `address:${name}`, limit }))
}

/** Returns the SHA-256 in hex: names may be long, and may be personal data. */
const digest = async (name: string) => (await hashSecret(name)).replace('sha256:', '')
