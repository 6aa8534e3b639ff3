import type { Session } from '@sallyport/core'
import { authRequest } from './auth-handle.ts'
import { callLease, isLeased } from './call-lease.ts'
import type { StoreContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { storeOf } from './store-of.ts'

/**
 * Returns the session of the caller, never null, read directly from the database (spec section 1). In a protected
 * procedure, use `ctx.session` instead.
 *
 * @throws TRPCError with an `AuthError` as its cause, or a `ConfigurationError` if `ctx.db` carries no store
 */
export function getSession(ctx: StoreContext): Promise<Session> {
  // An action may run where no revocations are announced, so its reads aren't shared.
  const isAction = ctx.auth[authRequest].store !== undefined
  return readSession(ctx, isAction ? 'authenticateFresh' : 'authenticate')
}

/** Like {@link getSession}, with a read that no other call has used. */
export function getFreshSession(ctx: StoreContext): Promise<Session> {
  return readSession(ctx, 'authenticateFresh')
}

async function readSession(
  ctx: StoreContext,
  authenticate: 'authenticate' | 'authenticateFresh',
): Promise<Session> {
  try {
    const request = ctx.auth[authRequest]
    const read = await request[authenticate](storeOf(ctx), request.kind)
    if (isLeased(ctx.auth)) ctx.auth[callLease].begin(read)
    return read.session
  } catch (error) {
    throw toTRPCError(error)
  }
}
