import type { Session } from '@sallyport/core'
import { authRequest } from './auth-handle.ts'
import type { StoreContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { storeOf } from './store-of.ts'

/**
 * The session of the caller, read directly from the database (spec section 1). Inside a protected procedure `ctx.session` has it
 * already.
 *
 * @throws TRPCError with an `AuthError` as its cause, or a `ConfigurationError` where `ctx.db` carries no store; never null
 */
export async function getSession(ctx: StoreContext): Promise<Session> {
  try {
    const { authenticate, authenticateFresh, kind, store } = ctx.auth[authRequest]
    // An action may run where nobody tells of revocations, so each read is its own.
    const read = store === undefined ? authenticate : authenticateFresh
    const { session } = await read(storeOf(ctx), kind)
    return session
  } catch (error) {
    throw toTRPCError(error)
  }
}
