import { withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { authConfig } from './auth.config.ts'
import { oldDatabase } from './old-app.ts'

export const store = await openPostgresStore(
  { pool: oldDatabase },
  {
    mapping: {
      issuer: authConfig.issuer,
      session: { columns: { expiresAt: 'expires', lastAuthenticatedAt: 'createdAt' } },
      user: { columns: { role: null, banned: null, banExpires: null } },
    },
  },
)
export const db = withAuthStore(drizzle(oldDatabase), store)
