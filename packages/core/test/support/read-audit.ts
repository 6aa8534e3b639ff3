import type { TestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'

/** The records about a user, in the order in which they were written, with their details as members. */
export async function readAudit(
  { db }: Pick<TestAuth, 'db'>,
  userId: string,
): Promise<Record<string, unknown>[]> {
  const rows = await db
    .selectFrom('audit')
    .selectAll()
    .where('userId', '=', userId)
    .orderBy(sql`rowid`)
    .execute()
  return rows.map(({ id: _id, userId: _userId, detail, createdAt: _createdAt, ...row }) => ({
    ...row,
    ...JSON.parse(detail),
  }))
}
