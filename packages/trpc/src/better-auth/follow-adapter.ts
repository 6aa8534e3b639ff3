import type { Revocation } from '@sallyport/core'
import { withDeadline } from '@sallyport/core/internal/server'
import type { Where } from 'better-auth'
import { follow, type Publish, replaceMethod } from './follow.ts'

interface Query {
  readonly model: string
  readonly where: Where[]
}

type Row = Readonly<Record<string, unknown>>

/** The methods of Better Auth's database adapter that change sessions, and the one that finds these rows. */
export interface WritableAdapter {
  findMany(query: Query & { readonly limit: number }): Promise<unknown>
  update(query: Query): Promise<unknown>
  updateMany(query: Query): Promise<unknown>
  delete(query: Query): Promise<unknown>
  deleteMany(query: Query): Promise<unknown>
  consumeOne?(query: Query): Promise<unknown>
  incrementOne?(query: Query): Promise<unknown>
  transaction?(work: (trx: WritableAdapter) => Promise<unknown>): Promise<unknown>
}

const EVERYONE: Revocation = { sessionId: null, userId: null }

/** If a write changes this many rows, all sessions are read again. */
const MAX_ROWS = 100

/** A write of Better Auth waits this long for our read. */
const MAX_READ_MS = 1_000

/** What a change of a row may end, by table. Other tables don't affect sessions. */
const REVOKED_BY: Readonly<Record<string, { userField?: string; revoked(row: Row): Revocation }>> = {
  session: {
    userField: 'userId',
    revoked: ({ id, userId }) => ({ sessionId: String(id), userId: String(userId) }),
  },
  user: { userField: 'id', revoked: ({ id }) => ({ sessionId: null, userId: String(id) }) },
  member: { userField: 'userId', revoked: ({ userId }) => ({ sessionId: null, userId: String(userId) }) },
  organizationRole: { revoked: () => EVERYONE },
}

/**
 * Publishes every write of Better Auth and its plugins that may end or weaken a session, after its
 * transaction has ended. They all share this adapter, so its methods are replaced in place. The returned
 * function stops publishing.
 */
export function followAdapter(
  adapter: WritableAdapter,
  listener: Publish,
  { isTransaction = false }: { isTransaction?: boolean } = {},
): () => void {
  return follow(adapter, listener, (publish) => {
    for (const name of ['update', 'consumeOne', 'incrementOne'] as const) {
      const write = adapter[name]
      if (write === undefined) continue
      replaceMethod(adapter, name, async (query) => {
        const row = await write.call(adapter, query)
        if (isRow(row)) for (const revocation of revokedBy(query, [row])) publish(revocation)
        return row
      })
    }
    for (const name of ['updateMany', 'delete', 'deleteMany'] as const) {
      const write = adapter[name]
      replaceMethod(adapter, name, async (query) => {
        const revocations = await findRevoked(isTransaction ? null : adapter, query)
        try {
          return await write.call(adapter, query)
        } finally {
          // Also if the write failed, because it may have committed.
          for (const revocation of revocations) publish(revocation)
        }
      })
    }
    followTransactions(adapter, publish)
  })
}

/** Publishes the writes of a transaction after it has ended. Other connections don't see them before. */
function followTransactions(adapter: WritableAdapter, publish: Publish): void {
  const { transaction } = adapter
  if (transaction === undefined) return
  replaceMethod(adapter, 'transaction', async (work) => {
    const revocations: Revocation[] = []
    let stop: (() => void) | undefined
    try {
      return await transaction.call(adapter, (trx) => {
        // An adapter without transactions passes itself.
        if (trx !== adapter)
          stop = followAdapter(trx, (revocation) => revocations.push(revocation), { isTransaction: true })
        return work(trx)
      })
    } finally {
      stop?.()
      for (const revocation of revocations) publish(revocation)
    }
  })
}

/**
 * Returns what a write may revoke. Reads the rows only if the query doesn't name their user, and never in a
 * transaction (null), which PostgreSQL would abort if the read failed.
 */
async function findRevoked(adapter: WritableAdapter | null, query: Query): Promise<readonly Revocation[]> {
  const { model, where } = query
  if (REVOKED_BY[model] === undefined) return []
  const userId = userOf(query)
  if (userId !== null) return [{ sessionId: null, userId }]
  if (adapter === null) return [EVERYONE]
  try {
    const rows = await withDeadline(adapter.findMany({ model, where, limit: MAX_ROWS }), MAX_READ_MS)
    if (Array.isArray(rows) && rows.length < MAX_ROWS) return revokedBy(query, rows.filter(isRow))
  } catch {
    // The call fails or succeeds with Better Auth's own statement.
  }
  return [EVERYONE]
}

/** Returns the user whose rows a query selects; null if it doesn't name one. */
function userOf({ model, where }: Query): string | null {
  const userField = REVOKED_BY[model]?.userField
  if (where.some(({ connector = 'AND' }) => connector !== 'AND')) return null
  const condition = where.find(({ field, operator = 'eq' }) => field === userField && operator === 'eq')
  const { value } = condition ?? {}
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

function revokedBy({ model }: Query, rows: readonly Row[]): readonly Revocation[] {
  const table = REVOKED_BY[model]
  return table === undefined ? [] : rows.map(table.revoked)
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null
}
