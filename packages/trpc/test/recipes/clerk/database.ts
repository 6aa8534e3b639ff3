import { type SessionKey, withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { issuer } from './auth.config.ts'
import { importSession, pool } from './clerk.ts'

const session = { userId: 'user_id', expiresAt: 'expires_at', lastAuthenticatedAt: 'signed_in_at' }
const user = { name: null, email: null, role: null, banExpires: null }
export const store = await openPostgresStore(
  { pool },
  {
    mapping: {
      issuer,
      session: { table: 'clerk_session', columns: session },
      user: { table: 'clerk_user', columns: user },
    },
  },
)
async function findSession(key: SessionKey) {
  const found = await store.sessions.findSession(key)
  if (found === null) await importSession(key)
  return found ?? store.sessions.findSession(key)
}
export const db = withAuthStore(drizzle(pool), { ...store, sessions: { findSession } })
