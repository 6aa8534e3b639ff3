import { withAuthStore } from '@sallyport/core'
import { openSqliteStore } from '@sallyport/core/sqlite'
import { authConfig } from './auth.config.ts'
import { oldDatabase, outage } from './old-app.ts'

export const store = await openSqliteStore(
  { client: oldDatabase },
  {
    mapping: {
      issuer: authConfig.issuer,
      session: {
        table: 'sessions',
        columns: { userId: 'user_id', expiresAt: 'expires_at', lastAuthenticatedAt: null },
      },
      user: { table: 'users', columns: { role: null, banned: null, banExpires: null } },
      dates: 'milliseconds',
    },
  },
)
const sessions: typeof store.sessions = {
  findSession(key) {
    if (outage.isOn) throw new Error('The database is away')
    return store.sessions.findSession(key)
  },
}
export const db = withAuthStore(oldDatabase, { ...store, sessions })
