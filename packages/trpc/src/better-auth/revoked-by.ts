import type { Revocation } from '@sallyport/core'
import { withDeadline } from '@sallyport/core/internal/server'
import type { Where } from 'better-auth'

/** The rows that a method of Better Auth's adapter concerns. */
export interface Query {
  readonly model: string
  readonly where: Where[]
}

/** The method of Better Auth's adapter that finds rows. */
export interface RowFinder {
  findMany(query: Query & { readonly limit: number }): Promise<unknown>
}

type Row = Readonly<Record<string, unknown>>

const EVERYONE: Revocation = { sessionId: null, userId: null }

/** If a write changes this many rows, all sessions are read again. */
const MAX_ROWS = 100

/** A write of Better Auth waits this long for our read. */
const MAX_READ_MS = 1_000

/** The field with the user's id, by table; null if a change concerns everyone. Others affect no session. */
const USER_FIELDS: Readonly<Record<string, string | null>> = {
  session: 'userId',
  user: 'id',
  member: 'userId',
  organizationRole: null,
}

/**
 * Returns what a write may revoke. Reads the rows only if the query doesn't name their user, and never in a
 * transaction (null), which PostgreSQL would abort if the read failed.
 */
export async function findRevoked(adapter: RowFinder | null, query: Query): Promise<readonly Revocation[]> {
  const { model, where } = query
  if (USER_FIELDS[model] === undefined) return []
  const userId = userOf(query)
  if (userId !== null) return [{ sessionId: null, userId }]
  if (adapter === null) return [EVERYONE]
  try {
    const rows = await withDeadline(adapter.findMany({ model, where, limit: MAX_ROWS }), MAX_READ_MS)
    if (Array.isArray(rows) && rows.length < MAX_ROWS) return revokedBy(query, rows)
  } catch {
    // The call fails or succeeds with Better Auth's own statement.
  }
  return [EVERYONE]
}

/** Returns the user whose rows a query selects; null if it doesn't name one. */
function userOf({ model, where }: Query): string | null {
  if (where.some(({ connector = 'AND' }) => connector !== 'AND')) return null
  const condition = where.find(
    ({ field, operator = 'eq' }) => field === USER_FIELDS[model] && operator === 'eq',
  )
  const { value } = condition ?? {}
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

/** Returns what a change of these rows may revoke. */
export function revokedBy({ model }: Query, rows: readonly unknown[]): readonly Revocation[] {
  const userField = USER_FIELDS[model]
  if (userField === undefined) return []
  return rows.filter(isRow).map((row) => {
    if (userField === null) return EVERYONE
    return { sessionId: model === 'session' ? String(row.id) : null, userId: String(row[userField]) }
  })
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null
}
