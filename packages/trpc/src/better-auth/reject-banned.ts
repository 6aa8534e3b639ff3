import { AuthError, isBanned, type SessionKey, type SessionReader, type StoredSession } from '@sallyport/core'
import { PROBE_ID } from '@sallyport/core/internal/server'
import type { BetterAuthSource } from './source.ts'

/**
 * Returns a reader that rejects banned users whose session is gone or expired, because Better Auth ends the
 * sessions of users whom it bans. Reads the user only if the session doesn't exist.
 */
export function rejectBanned(
  sessions: SessionReader,
  { source, now }: { source: BetterAuthSource; now: () => Date },
): SessionReader {
  async function rejectUser({ userId }: SessionKey): Promise<null> {
    const { adapter, options } = await source.load()
    if (userId === PROBE_ID || !options.plugins?.some(({ id }) => id === 'admin')) return null
    const user = await adapter.findOne({ model: 'user', where: [{ field: 'id', value: userId }] })
    const { banned, banExpires } = user ?? {}
    const isUnbanned = banned === undefined || banned === null || banned === false || banned === 0
    if (!isUnbanned) rejectDuring({ until: banExpires == null ? null : new Date(String(banExpires)) })
    return null
  }

  function rejectDuring({ until }: { until: Date | null }): void {
    if (isBanned({ banned: true, banExpires: until }, now())) throw new AuthError('ACCOUNT_BANNED')
  }

  function check(session: StoredSession): StoredSession {
    // Better Auth may keep the row and set it to expired. If it hasn't expired, Step 2 checks the ban.
    if (session.ban !== null && !(session.expiresAt > now())) rejectDuring(session.ban)
    return session
  }

  const decide = (key: SessionKey, session: StoredSession | null) =>
    session === null ? rejectUser(key) : check(session)

  return {
    findSession(key) {
      const found = sessions.findSession(key)
      // Without a promise, because most sessions are found and some drivers return at once.
      return found !== null && 'then' in found
        ? found.then((session) => decide(key, session))
        : decide(key, found)
    },
  }
}
