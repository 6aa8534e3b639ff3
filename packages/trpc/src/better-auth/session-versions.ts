import type { SessionReader, StoredSession } from '@sallyport/core'
import type { BetterAuthContext } from './instance.ts'
import { engineOf } from './member.ts'
import { type BetterAuthSource, keepsRows } from './source.ts'

/**
 * Returns whether the database may give the id of a deleted row to a new one, as SQLite does with numbers.
 * Step 1 keeps the id of a token, so without a version the cookie of a deleted session would be valid again.
 */
export function mayReuseIds({ adapter, generateId }: BetterAuthContext): boolean {
  return ['sqlite', null].includes(engineOf(adapter)) && generateId({ model: 'session' }) === false
}

/** Returns the version of a session whose id may be used again: its creation in milliseconds since 1970. */
export function versionOf(createdAt: unknown): number {
  return createdAt instanceof Date ? createdAt.getTime() : Date.parse(String(createdAt))
}

/**
 * Returns the session whose creation is its version; null if its row is gone. Takes the row, as Step 2 does:
 * the dates of the copy in a secondary storage may be more exact.
 */
export async function findVersioned(
  { adapter, options }: BetterAuthContext,
  { token, session }: { token: string; session: Readonly<Record<string, unknown>> },
): Promise<Readonly<Record<string, unknown>> | null> {
  if (options.secondaryStorage === undefined || !keepsRows({ options })) return session
  // By its token, because another session may have the id now.
  return adapter.findOne({ model: 'session', where: [{ field: 'token', value: token }] })
}

/** Adds versions to the sessions of a database that may use ids again. */
export function withVersions({ findSession }: SessionReader, source: BetterAuthSource): SessionReader {
  let isNeeded: boolean | undefined
  function add(session: StoredSession | null): StoredSession | null {
    // The store has loaded the context to read the session.
    if (isNeeded === undefined && source.current !== undefined) isNeeded = mayReuseIds(source.current)
    if (session === null || isNeeded === false) return session
    // An unreadable date isn't a version, so Step 2 can't decide, and the call gets 503.
    return { ...session, version: versionOf(session.lastAuthenticatedAt) }
  }
  return {
    findSession(key) {
      const found = findSession(key)
      return found !== null && 'then' in found ? found.then(add) : add(found)
    },
  }
}
