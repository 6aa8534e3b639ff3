import { type AuthDatabase, type AuthStore, authStore, ConfigurationError } from '@sallyport/core'

/**
 * What the two steps need of a context's database.
 *
 * @throws ConfigurationError where the types were passed over and the context has none
 */
export function storeOf(ctx: { readonly db: AuthDatabase }): AuthStore {
  const store = ctx.db?.[authStore]
  if (store !== undefined) return store
  throw new ConfigurationError(
    'ctx.db carries no auth store: use the db of openSqlite(), or withAuthStore(db, store)',
  )
}
