import { createSigningKey } from '@sallyport/core/internal/auth'

/** Returns the variables that the app needs at run time, with new keys. */
export async function appKeys(): Promise<Record<'SIGNING_KEYS' | 'JWKS' | 'DATABASE_URL', string>> {
  const key = await createSigningKey()
  const { d: _, ...publicKey } = key
  return {
    SIGNING_KEYS: JSON.stringify({ keys: [key] }),
    JWKS: JSON.stringify({ keys: [publicKey] }),
    DATABASE_URL: 'file:app.db',
  }
}
