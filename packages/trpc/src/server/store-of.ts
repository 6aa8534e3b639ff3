import type { AuthStore } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import type { StoreContext } from './context.ts'

/**
 * Returns the store of the context's database, or of the action that removed it from the context.
 *
 * @throws ConfigurationError if the context has none, which the types rule out
 */
export function storeOf(ctx: StoreContext): AuthStore {
  const db = 'db' in ctx ? ctx.db : undefined
  const store = ctx.auth[authRequest].store ?? db?.[authStore]
  if (store !== undefined) return store
  throw new ConfigurationError(
    db === undefined
      ? 'The context has no database: return { ...auth.http(options), db } from createContext'
      : 'ctx.db carries no auth store: use the db of openSqlite(), or withAuthStore(db, store)',
  )
}
