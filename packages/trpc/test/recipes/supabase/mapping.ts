import type { StoreMapping } from '@sallyport/core/postgres'
import { issuer } from './auth.config.ts'

const ban = { banned: 'banned_until', banExpires: 'banned_until' }
const session = { userId: 'user_id', expiresAt: 'not_after', lastAuthenticatedAt: 'created_at' }
export const mapping: StoreMapping = {
  issuer,
  session: { table: 'auth.sessions', columns: session, nullExpiresAt: 'endless' },
  user: { table: 'auth.users', columns: { name: null, role: null, ...ban } },
}
