import type { TestAuth } from '@sallyport/core/testing'
import { type LinkPurpose, withOwnTables } from '../../src/plugins/email-password/tables.ts'
import { createSecret, hashSecret } from '../../src/session/secret.ts'

/** Inserts a link as if it was just sent, valid for an hour. Returns its token. */
export async function insertLink(
  { db, clock }: Pick<TestAuth, 'db' | 'clock'>,
  { kind: purpose, userId, email }: { kind: LinkPurpose; userId: string; email: string },
): Promise<string> {
  const token = createSecret()
  const createdAt = clock.now()
  const expiresAt = new Date(createdAt.getTime() + 3_600_000)
  await withOwnTables(db)
    .insertInto('verification')
    .values({ id: await hashSecret(token), purpose, userId, email, expiresAt, createdAt })
    .execute()
  return token
}
