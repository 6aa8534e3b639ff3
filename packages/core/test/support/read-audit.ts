import type { TestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'

/**
 * Returns the records about a user, oldest first, with their details as members. Omits the acting session,
 * and a user agent that is null; `lifecycle/event-request.test.ts` tests those.
 */
export async function readAudit(
  { db }: Pick<TestAuth, 'db'>,
  userId: string,
): Promise<Record<string, unknown>[]> {
  const rows = await db
    .selectFrom('sallyport.audit')
    .selectAll()
    .where('userId', '=', userId)
    .orderBy(sql`rowid`)
    .execute()
  return rows.map(({ type, sessionId, actorId, address, userAgent, detail }) => ({
    type,
    sessionId,
    actorId,
    address,
    ...(userAgent !== null && { userAgent }),
    ...JSON.parse(detail),
  }))
}
