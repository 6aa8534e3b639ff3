import { type AuthStore, ConfigurationError, type Session } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { authCall, authRequest } from './auth-handle.ts'
import type { StoreContext } from './context.ts'
import { reportError, toTRPCError } from './errors.ts'
import type { SessionRead } from './session-read.ts'

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
    const request = ctx.auth[authRequest]
    const step = request.isIdentified() ? 'step2' : 'step1'
    throw reportError(toTRPCError(error), { path: ctx.auth[authCall].path, step }, request.config)
  }
}

export function readSession(ctx: StoreContext): Promise<SessionRead> {
  const { store, kind } = ctx.auth[authCall]
  // An action may run where no revocations are announced, so its reads aren't shared.
  return store === undefined ? ctx.auth[authRequest].authenticate(storeOf(ctx), kind) : readFreshSession(ctx)
}

/** Reads the session like {@link readSession}, but for this call alone. */
export function readFreshSession(ctx: StoreContext): Promise<SessionRead> {
  return ctx.auth[authRequest].authenticateFresh(storeOf(ctx), ctx.auth[authCall].kind)
}

/** Returns the store of `ctx.db`, or the one that an action kept when it removed `db` from the context. */
export function storeOf(ctx: StoreContext): AuthStore {
  const db = 'db' in ctx ? ctx.db : undefined
  const { store: kept } = ctx.auth[authCall]
  const { ownDb } = ctx.auth[authRequest]
  const attached = db?.[authStore]
  const store = kept ?? (attached && (ownDb?.[authStore] ?? attached))
  if (store !== undefined) return store
  throw new ConfigurationError(
    db === undefined
      ? 'The context has no database: return { ...auth.http(options), db } from createContext'
      : 'ctx.db carries no auth store: use the db of openSqlite(), or withAuthStore(db, store)',
  )
}
