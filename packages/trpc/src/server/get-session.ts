import type { Session } from '@sallyport/core'
import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'

/**
 * The session of the caller, read directly from the database (spec section 1). Inside a protected procedure `ctx.session` has it
 * already.
 *
 * @throws TRPCError with an `AuthError` as its cause, or a `ConfigurationError` where `ctx.db` carries no store; never null
 */
export async function getSession(ctx: DatabaseContext): Promise<Session> {
  try {
    const { session } = await ctx.auth.authenticate(ctx.db, ctx.auth.kind)
    return session
  } catch (error) {
    throw toTRPCError(error)
  }
}
