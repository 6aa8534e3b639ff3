import type { AuthTables } from '@sallyport/core/auth'
import type { Kysely } from 'kysely'

/** A session and its user. */
export interface Named {
  readonly userId: string
  readonly sessionId: string
}

type Tables = Kysely<AuthTables>

/** Inserts a user without the library, so a test can create any state. */
export async function insertUser(
  tables: Tables,
  id: string,
  { role = 'user', banned = false, at = new Date(0) }: { role?: string; banned?: boolean; at?: Date } = {},
): Promise<void> {
  await tables
    .insertInto('user')
    .values({
      id,
      name: 'Test User',
      email: `${id}@example.com`,
      emailVerified: false,
      image: null,
      role,
      banned,
      banReason: null,
      banExpires: null,
      createdAt: at,
      updatedAt: at,
    })
    .execute()
}

/** See {@link insertUser}. No client has the session's secret. */
export async function insertSession(
  tables: Tables,
  { userId, sessionId }: Named,
  expiresAt: Date,
  at: Date = new Date(0),
): Promise<void> {
  await tables
    .insertInto('session')
    .values({
      id: sessionId,
      token: `sha256:${sessionId}`,
      userId,
      ipAddress: null,
      userAgent: null,
      expiresAt,
      lastAuthenticatedAt: at,
      lastSeenAt: at,
      remembered: true,
      previousToken: null,
      rotatedAt: null,
      tokenFamily: null,
      createdAt: at,
      updatedAt: at,
    })
    .execute()
}
