import { commit } from '@sallyport/core/auth'
import type { AuditRecordResponse } from '@sallyport/core/internal/protocol'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import type { ListAuditOutput } from '@sallyport/core/plugins/admin'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { get } from '../../support/requests.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

let root: TestSession
beforeEach(async () => {
  root = await auth.signIn({ role: 'admin' })
  await auth.db.deleteFrom('sallyport.audit').execute()
})

const list = (query: Record<string, string> = {}, cookie = root.cookie) =>
  auth.handler(get(`${ENDPOINTS.listAudit.path}?${new URLSearchParams(query)}`, { cookie }))
const recordsOf = async (query: Record<string, string> = {}): Promise<AuditRecordResponse[]> =>
  (await (await list(query)).json()).records
const idsOf = (records: readonly AuditRecordResponse[]) => records.map(({ id }) => id)

/** Records one event with each kind of detail. */
const record = (userId: string | null, more: object = {}) =>
  commit(auth.database, async (_trx, record) =>
    record({ type: 'notes:created', userId, actorId: null, at: auth.clock.now(), ...more }),
  )

describe('GET /admin/list-audit', () => {
  test('returns every column of a record', async () => {
    const { userId } = await auth.createUser()
    await auth.db.deleteFrom('sallyport.audit').execute()
    const origin = { address: '192.0.2.1', userAgent: 'curl/8', actingSessionId: 's1' }
    await record(userId, { ...origin, actorId: 'root', detail: { count: 1, done: true, note: null } })
    expect(await recordsOf()).toEqual([
      {
        id: expect.any(String),
        type: 'notes:created',
        userId,
        sessionId: null,
        actorId: 'root',
        ...origin,
        detail: { count: 1, done: true, note: null },
        createdAt: auth.clock.now().toISOString(),
      },
    ])
  })

  test('lists the newest first, including records of deleted users', async () => {
    await record('first')
    auth.clock.advance(1)
    await record('second')
    expect((await recordsOf()).map(({ userId }) => userId)).toEqual(['second', 'first'])
  })

  test('is recorded after the read, with its filter', async () => {
    expect(await recordsOf({ userId: 'ada', type: 'user.banned' })).toEqual([])
    expect(await recordsOf({ type: 'admin.audit-read' })).toMatchObject([
      {
        userId: 'ada',
        actorId: root.userId,
        actingSessionId: root.sessionId,
        detail: { filter: { userId: 'ada', type: 'user.banned' } },
      },
    ])
  })

  test.each([1, 2, 3, 7, 8, 100])(
    'lists each record once in pages of %i, even if many have the same time',
    async (limit) => {
      for (let i = 0; i < 7; i++) {
        if (i % 3 === 0) auth.clock.advance(1)
        await record(`user-${i}`)
      }
      const seen: (string | null)[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const query: Record<string, string> = {
          limit: String(limit),
          type: 'notes:created',
          ...(cursor !== '' && { cursor }),
        }
        const page: ListAuditOutput = await (await list(query)).json()
        seen.push(...page.records.map(({ userId }) => userId))
        auth.clock.advance(1)
        await record('newer')
        cursor = page.nextCursor
      }
      expect(seen.sort()).toEqual(Array.from({ length: 7 }, (_, i) => `user-${i}`))
    },
  )

  test('skips nothing if the last record of a page was pruned', async () => {
    for (let i = 0; i < 4; i++) await record(`user-${i}`)
    const first = await (await list({ limit: '2' })).json()
    await auth.db.deleteFrom('sallyport.audit').where('id', '=', first.records[1].id).execute()
    const rest = idsOf(await recordsOf({ cursor: first.nextCursor, type: 'notes:created' }))
    const left = await auth.db
      .selectFrom('sallyport.audit')
      .select('id')
      .where('type', '=', 'notes:created')
      .execute()
    const missing = left.map(({ id }) => id).filter((id) => id !== first.records[0].id && !rest.includes(id))
    expect(missing).toEqual([])
  })

  test('has pages of 50 by default', async () => {
    for (let i = 0; i < 51; i++) await record(`user-${i}`)
    const { records, nextCursor } = await (await list()).json()
    expect(records).toHaveLength(50)
    expect(nextCursor).not.toBeNull()
  })

  describe('filters', () => {
    const users = async (query: Record<string, string>) =>
      (await recordsOf(query)).map(({ userId }) => userId).sort()

    test('by user, by admin, by type, and by all of them', async () => {
      await record('ada', { actorId: 'root' })
      await record('ada', { actorId: 'other' })
      await record('bob', { actorId: 'root', type: 'notes:deleted' })
      expect(await users({ userId: 'ada' })).toEqual(['ada', 'ada'])
      expect(await users({ actorId: 'root' })).toEqual(['ada', 'bob'])
      expect(await users({ type: 'notes:deleted' })).toEqual(['bob'])
      expect(await users({ actorId: 'root', type: 'notes:created' })).toEqual(['ada'])
      expect(await users({ userId: 'bob', type: 'notes:created' })).toEqual([])
    })

    test('by session: events of the session, and actions with it', async () => {
      await record('ada', { actingSessionId: 's1' })
      await record('bob', { sessionId: 's1' })
      await record('eve', { sessionId: 's2', actingSessionId: 's2' })
      expect(await users({ sessionId: 's1' })).toEqual(['ada', 'bob'])
    })

    test('by time, from `since` on and before `until`, in any time zone', async () => {
      const moments = ['first', 'second', 'third'].map((userId, i) => ({
        userId,
        at: new Date(Date.UTC(2026, 0, 1, 12, i)),
      }))
      for (const { userId, at } of moments) await record(userId, { at })
      expect(await users({ since: '2026-01-01T12:01:00Z', until: '2026-01-01T12:02:00Z' })).toEqual([
        'second',
      ])
      expect(await users({ until: '2026-01-01T14:01:00+02:00' })).toEqual(['first'])
      expect(await users({ since: '2026-01-01T12:02:00.000Z', until: '2026-02-01T00:00:00Z' })).toEqual([
        'third',
      ])
    })
  })

  test.each([
    [{ limit: '0' }, ['limit']],
    [{ limit: '101' }, ['limit']],
    [{ userId: '' }, ['userId']],
    [{ sessionId: 'x'.repeat(129) }, ['sessionId']],
    [{ actorId: '\0' }, ['actorId']],
    [{ since: 'yesterday' }, ['since']],
    [{ until: '2026-01-01' }, ['until']],
    [{ cursor: 'x' }, ['cursor']],
    [{ cursor: '_' }, ['cursor']],
    [{ cursor: '2026-01-01T00:00:00.000Z_\0' }, ['cursor']],
    [{ cursor: '+275760-09-13T00:00:00.000Z_x' }, ['cursor']],
    [{ offset: '1' }, ['offset']],
  ])('%j is 400', async (query, fields) => {
    const response = await list(query)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields })
  })
})
