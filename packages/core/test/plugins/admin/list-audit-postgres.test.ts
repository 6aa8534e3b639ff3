import { commit } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import type { ListAuditOutput } from '@sallyport/core/plugins/admin'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { startPostgresAuth } from '../../support/postgres-auth.ts'
import { get } from '../../support/requests.ts'

const auth = await startPostgresAuth()

const { userId } = await auth.createUser('admin')
const root = { userId, ...(await auth.signIn(userId)) }
beforeEach(() => auth.db.deleteFrom('sallyport.audit').execute())

async function list(query: Record<string, string> = {}): Promise<ListAuditOutput> {
  const search = new URLSearchParams(query)
  return (await auth.handler(get(`${ENDPOINTS.listAudit.path}?${search}`, { cookie: root.cookie }))).json()
}

/** Inserts this many records of one millisecond. Returns the ids, newest first. */
async function makeRecords(): Promise<string[]> {
  for (let i = 0; i < 6; i++)
    await commit(auth.database, async (_trx, record) =>
      record({ type: 'notes:created', userId: `user-${i}`, actorId: null, at: auth.clock.now() }),
    )
  for (let i = 0; i < 6; i++) {
    const createdAt = `2026-01-01T00:00:00.1234${i}0Z`
    await sql`update sallyport.audit set "createdAt" = ${createdAt} where "userId" = ${`user-${i}`}`.execute(
      auth.db,
    )
  }
  const rows = await auth.db.selectFrom('sallyport.audit').select('id').orderBy('createdAt', 'desc').execute()
  return rows.map(({ id }) => id)
}

test.each([1, 2, 3, 10])('pages of %i list each record of one millisecond once', async (limit) => {
  const ids = await makeRecords()
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = { limit: String(limit), type: 'notes:created', ...(cursor !== '' && { cursor }) }
    const page: ListAuditOutput = await list(query)
    seen.push(...page.records.map(({ id }) => id))
    cursor = page.nextCursor
  }
  expect(seen).toEqual(ids)
})

test('filters by session and time, and records the read once', async () => {
  await makeRecords()
  await sql`update sallyport.audit set "actingSessionId" = 's1' where "userId" = 'user-1'`.execute(auth.db)
  expect((await list({ sessionId: 's1' })).records).toMatchObject([{ userId: 'user-1' }])
  expect(
    (await list({ since: '2026-01-01T00:00:00.123Z', until: '2026-01-02T00:00:00Z' })).records,
  ).toHaveLength(6)
  await list({ sessionId: 's1' })
  const reads = await list({ type: 'admin.audit-read' })
  expect(reads.records).toHaveLength(2)
  expect(reads.records[0]).toMatchObject({ actorId: root.userId, actingSessionId: root.sessionId })
})
