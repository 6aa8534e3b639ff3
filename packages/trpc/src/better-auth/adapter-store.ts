import type { SessionReader, StoredSession } from '@sallyport/core'
import { memoryFeed, memoryLimits, type OpenedMembers, PROBE_ID } from '@sallyport/core/internal/server'
import { getAuthTables } from 'better-auth/db'
import { defaultRoleOf } from './access.ts'
import type { BetterAuthContext } from './instance.ts'
import { returnedColumns } from './returned-columns.ts'

type Row = Readonly<Record<string, unknown>>

/** Creates a store on Better Auth's own adapter, for databases that our drivers can't read. */
export function adapterStore(context: BetterAuthContext, issuer: string): OpenedMembers {
  const { find, toSession } = createRowReader(context, issuer)
  const sessions: SessionReader = {
    async findSession({ sessionId, userId }) {
      if (sessionId === PROBE_ID) {
        // The database may reject this id, as PostgreSQL does if its ids are UUIDs.
        await context.adapter.findMany({ model: 'session', where: [], limit: 1 })
        return null
      }
      const session = await find('session', { id: sessionId })
      if (session === null || String(session.userId) !== userId) return null
      const user = await find('user', { id: userId })
      return user === null ? null : toSession(session, user)
    },
  }
  return { sessions, revocations: memoryFeed(), limits: memoryLimits() }
}

/** Reads rows with Better Auth's adapter. */
export interface RowReader {
  find(model: string, where: Readonly<Record<string, string>>): Promise<Row | null>
  /** Converts rows as Better Auth reads them. */
  toSession(session: Row, user: Row): Promise<StoredSession>
}

export function createRowReader({ adapter, options }: BetterAuthContext, issuer: string): RowReader {
  // Without rows, Better Auth omits the table, but a secondary storage has the same fields.
  const tables = getAuthTables({ ...options, secondaryStorage: undefined })
  const columns = returnedColumns(tables)
  const defaultRole = defaultRoleOf(options)
  const find: RowReader['find'] = (model, where) =>
    adapter.findOne({ model, where: Object.entries(where).map(([field, value]) => ({ field, value })) })

  async function memberRole({ activeOrganizationId, userId }: Row): Promise<Row> {
    if (!('member' in tables)) return {}
    const isActive = typeof activeOrganizationId === 'string'
    const where = { userId: String(userId), organizationId: String(activeOrganizationId) }
    const member = isActive ? await find('member', where) : null
    return { activeOrganizationRole: member?.role ?? null }
  }

  return {
    find,
    async toSession(session, user) {
      const { banned, banExpires } = user
      return {
        acr: null,
        ...pick(session, columns.session),
        id: String(session.id),
        userId: String(session.userId),
        expiresAt: toDate(session.expiresAt),
        lastAuthenticatedAt: session.createdAt instanceof Date ? session.createdAt.toISOString() : '',
        version: null,
        rotatedAt: null,
        issuer,
        amr: null,
        user: {
          ...pick(user, columns.user),
          id: String(user.id),
          name: String(user.name ?? ''),
          email: String(user.email ?? ''),
          role: String(user.role || defaultRole),
        },
        ban: banned ? { until: banExpires == null ? null : toDate(banExpires) } : null,
        ...(await memberRole(session)),
      }
    },
  }
}

/** Returns an invalid date, which is treated as expired, if the value isn't a date. */
function toDate(value: unknown): Date {
  return value instanceof Date ? value : new Date(Number.NaN)
}

function pick(row: Row, columns: object): Row {
  return Object.fromEntries(Object.keys(columns).map((name) => [name, row[name] ?? null]))
}
