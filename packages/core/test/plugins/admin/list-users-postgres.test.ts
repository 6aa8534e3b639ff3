import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { startPostgresAuth } from '../../support/postgres-auth.ts'
import { get } from '../../support/requests.ts'

const auth = await startPostgresAuth()

/** So many users of one millisecond, the newest first, and an admin who is newer. */
async function makeUsers(): Promise<{ ids: string[]; cookie: string }> {
  await auth.db.deleteFrom('user').execute()
  const ids: string[] = []
  for (let i = 0; i < 6; i++) {
    const { userId } = await auth.createUser()
    ids.unshift(userId)
    const createdAt = `2026-01-01T00:00:00.1234${i}0Z`
    await sql`update "user" set "createdAt" = ${createdAt} where id = ${userId}`.execute(auth.db)
  }
  const root = await auth.createUser('admin')
  const { cookie } = await auth.signIn(root.userId)
  return { ids: [root.userId, ...ids], cookie }
}

async function listUsers(
  cookie: string,
  input: { limit: number; cursor?: string },
): Promise<{ ids: string[]; nextCursor: string | null }> {
  const query = new URLSearchParams({ ...input, limit: String(input.limit) })
  const response = await auth.handler(get(`${ENDPOINTS.listUsers.path}?${query}`, { cookie }))
  const page: { users: { id: string }[]; nextCursor: string | null } = await response.json()
  return { ids: page.users.map(({ id }) => id), nextCursor: page.nextCursor }
}

test.each([1, 2, 3, 10])(
  'pages of %i have each user once who was created in one millisecond',
  async (limit) => {
    const { ids, cookie } = await makeUsers()
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await listUsers(cookie, { limit, ...(cursor !== '' && { cursor }) })
      seen.push(...page.ids)
      cursor = page.nextCursor
    }
    expect(seen).toEqual(ids)
  },
)

test('nobody is left out where the last user of a page is gone before the next is asked for', async () => {
  const { ids, cookie } = await makeUsers()
  const { nextCursor } = await listUsers(cookie, { limit: 3 })
  await auth.db
    .deleteFrom('user')
    .where('id', '=', ids[2] ?? '')
    .execute()
  const rest = await listUsers(cookie, { limit: 100, cursor: nextCursor ?? '' })
  expect(rest.ids.slice(-4)).toEqual(ids.slice(3))
})
