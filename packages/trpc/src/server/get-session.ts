import { type AuthStore, ConfigurationError, type Session } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { type AuthRequest, authRequest } from './auth-handle.ts'
import { callLease, isLeased } from './call-lease.ts'
import type { StoreContext } from './context.ts'
import { toTRPCError } from './errors.ts'

/**
 * Runs both steps and returns the caller's session, never null. Protected procedures have `ctx.session`.
 *
 * @throws TRPCError whose cause is an `AuthError`, or a `ConfigurationError` if `ctx.db` has no auth store
 * @example const { userId } = await getSession(ctx)
 */
export function getSession(ctx: StoreContext): Promise<Session> {
  const { store, authenticate } = ctx.auth[authRequest]
  // An action may run where no revocations are announced, so its reads aren't shared.
  return store === undefined ? readSession(ctx, authenticate) : getFreshSession(ctx)
}

/** Returns the session like {@link getSession}, with a read that no other call has used. */
export function getFreshSession(ctx: StoreContext): Promise<Session> {
  return readSession(ctx, ctx.auth[authRequest].authenticateFresh)
}

async function readSession(ctx: StoreContext, authenticate: AuthRequest['authenticate']): Promise<Session> {
  try {
    const read = await authenticate(storeOf(ctx), ctx.auth[authRequest].kind)
    if (isLeased(ctx.auth)) ctx.auth[callLease].begin(read)
    return read.session
  } catch (error) {
    throw toTRPCError(error)
  }
}

/** Returns the store of `ctx.db`, or the one that an action kept when it removed `db` from the context. */
export function storeOf(ctx: StoreContext): AuthStore {
  const db = 'db' in ctx ? ctx.db : undefined
  const { store: kept, ownDb } = ctx.auth[authRequest]
  const attached = db?.[authStore]
  const store = kept ?? (attached && (ownDb?.[authStore] ?? attached))
  if (store !== undefined) return store
  throw new ConfigurationError(
    db === undefined
      ? 'The context has no database: return { ...auth.http(options), db } from createContext'
      : 'ctx.db carries no auth store: use the db of openSqlite(), or withAuthStore(db, store)',
  )
}
