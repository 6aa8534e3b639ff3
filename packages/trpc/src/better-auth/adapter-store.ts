import type { AuthStore, SessionReader, StoredSession } from '@sallyport/core'
import { memoryFeed } from '@sallyport/core/internal/server'
import type { BetterAuthSource } from './source.ts'

/** Creates Step 2 on Better Auth's own adapter, for databases that our drivers can't read. */
export function adapterStore(source: BetterAuthSource, issuer: () => string): AuthStore {
  const sessions: SessionReader = {
    async findSession({ sessionId, userId }) {
      const { adapter } = await source.load()
      const session = await adapter.findOne({ model: 'session', where: [{ field: 'id', value: sessionId }] })
      if (session === null || session.userId !== userId) return null
      const user = await adapter.findOne({ model: 'user', where: [{ field: 'id', value: userId }] })
      return user === null ? null : toStoredSession(session, { user, issuer: issuer() })
    },
  }
  return { sessions, revocations: memoryFeed() }
}

type Row = Readonly<Record<string, unknown>>

export function toStoredSession(
  session: Row,
  { user, issuer }: { user: Row; issuer: string },
): StoredSession {
  const { token: _, ...columns } = session
  const { banned, banExpires } = user
  return {
    ...columns,
    id: String(session.id),
    userId: String(session.userId),
    expiresAt: toDate(session.expiresAt),
    lastAuthenticatedAt: String(session.createdAt instanceof Date ? session.createdAt.toISOString() : ''),
    version: null,
    rotatedAt: null,
    issuer,
    user: {
      ...user,
      id: String(user.id),
      name: String(user.name ?? ''),
      email: String(user.email ?? ''),
      role: String(user.role ?? 'user'),
    },
    ban: banned ? { until: banExpires == null ? null : toDate(banExpires) } : null,
  }
}

/** An unreadable date counts as expired. */
function toDate(value: unknown): Date {
  return value instanceof Date ? value : new Date(Number.NaN)
}
