import { AuthError, isBanned, type SessionKey, type SessionReader, type StoredSession } from '@sallyport/core'
import type { BetterAuthSource } from './source.ts'

/**
 * Returns a reader that rejects banned users whose session is gone: Better Auth deletes the sessions of a user
 * when it bans them. Reads the user only if there is no session.
 */
export function rejectBanned(
  sessions: SessionReader,
  { source, now }: { source: BetterAuthSource; now: () => Date },
): SessionReader {
  async function rejectIfBanned({ userId }: SessionKey): Promise<null> {
    const { adapter, options } = await source.load()
    if (!options.plugins?.some(({ id }) => id === 'admin')) return null
    const user = await adapter.findOne({ model: 'user', where: [{ field: 'id', value: userId }] })
    const { banned, banExpires } = user ?? {}
    const isUnbanned = banned === undefined || banned === null || banned === false || banned === 0
    const until = banExpires == null ? null : new Date(String(banExpires))
    if (isBanned({ banned: !isUnbanned, banExpires: until }, now())) throw new AuthError('ACCOUNT_BANNED')
    return null
  }

  return {
    findSession(key) {
      const found = sessions.findSession(key)
      // Without a promise, because most sessions are found and some drivers return at once.
      if (found === null) return rejectIfBanned(key)
      return isSession(found) ? found : found.then((session) => session ?? rejectIfBanned(key))
    },
  }
}

function isSession(found: StoredSession | Promise<StoredSession | null>): found is StoredSession {
  return !('then' in found)
}
