import { type AuthStore, ConfigurationError, type Session } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { authRequest, type SessionRead } from './auth-handle.ts'
import type { StoreContext } from './context.ts'
import { reportError, toTRPCError } from './errors.ts'

/**
 * Runs both steps and returns the caller's session, never null. Protected procedures have `ctx.session`.
 *
 * @throws TRPCError whose cause is an `AuthError`, or a `ConfigurationError` if `ctx.db` has no auth store
 * @example const { userId } = await getSession(ctx)
 */
export async function getSession(ctx: StoreContext): Promise<Session> {
  try {
    return (await readSession(ctx)).session
  } catch (error) {
    const { path, config, isIdentified } = ctx.auth[authRequest]
    throw reportError(toTRPCError(error), { path, step: isIdentified() ? 'step2' : 'step1' }, config)
  }
}

export function readSession(ctx: StoreContext): Promise<SessionRead> {
  const { store, kind, authenticate } = ctx.auth[authRequest]
  // An action may run where no revocations are announced, so its reads aren't shared.
  return store === undefined ? authenticate(storeOf(ctx), kind) : readFreshSession(ctx)
}

/** Reads the session like {@link readSession}, but for this call alone. */
export function readFreshSession(ctx: StoreContext): Promise<SessionRead> {
  const { kind, authenticateFresh } = ctx.auth[authRequest]
  return authenticateFresh(storeOf(ctx), kind)
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
