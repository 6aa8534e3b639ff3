import { withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Pool } from 'pg'
import { issuer } from './auth.config.ts'

export const pool = new Pool({ connectionString: process.env.DATABASE_URL })
const mapping = {
  issuer,
  session: {
    table: 'auth.sessions',
    columns: { userId: 'user_id', expiresAt: 'not_after', lastAuthenticatedAt: 'created_at' },
    nullExpiresAt: 'endless',
  },
  user: {
    table: 'auth.users',
    columns: { name: null, role: null, banned: 'banned_until', banExpires: 'banned_until' },
  },
} as const
export const store = await openPostgresStore({ pool }, { mapping })
export const db = withAuthStore(drizzle(pool), store)
