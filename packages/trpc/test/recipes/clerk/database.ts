import { type SessionKey, withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { issuer } from './auth.config.ts'
import { importSession, pool } from './mirror.ts'

const mapping = {
  issuer,
  session: {
    table: 'clerk_session',
    columns: { userId: 'user_id', expiresAt: 'expires_at', lastAuthenticatedAt: 'signed_in_at' },
  },
  user: { table: 'clerk_user', columns: { name: null, email: null, role: null, banExpires: null } },
}
export const store = await openPostgresStore({ pool }, { mapping })
const sessions = {
  async findSession(key: SessionKey) {
    const found = await store.sessions.findSession(key)
    if (found !== null) return found
    await importSession(key)
    return store.sessions.findSession(key)
  },
}
export const db = withAuthStore(drizzle(pool), { ...store, sessions })
