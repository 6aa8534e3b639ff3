import type { AuthStore } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import type { StoreContext } from './context.ts'

/**
 * What the two steps need of a database: that of the context, or of the action that has taken it out.
 *
 * @throws ConfigurationError where the types were passed over and the context has none
 */
export function storeOf(ctx: StoreContext): AuthStore {
  const store = ctx.auth[authRequest].store ?? ('db' in ctx ? ctx.db?.[authStore] : undefined)
  if (store !== undefined) return store
  const isMissing = !('db' in ctx) || ctx.db === undefined
  throw new ConfigurationError(
    isMissing
      ? 'The context has no database: return { ...auth.http(options), db } from createContext'
      : 'ctx.db carries no auth store: use the db of openSqlite(), or withAuthStore(db, store)',
  )
}
