import { commit } from '@sallyport/core/auth'
import { TEST_PASSWORD, type TestAuth, type TestClock } from '@sallyport/core/testing'
import { insertAccount } from '../../src/plugins/email-password/accounts.ts'
import { hashPassword } from '../../src/plugins/email-password/password.ts'

/** An existing user, with the password that every test user has. */
export interface MadeUser {
  readonly userId: string
  readonly email: string
}

/**
 * Creates users where `createTestAuth` can't, such as in PostgreSQL. Hashes their password once.
 */
export async function createUserMaker({
  database,
  clock,
}: Pick<TestAuth, 'database'> & { readonly clock: Pick<TestClock, 'now'> }): Promise<
  (role?: string) => Promise<MadeUser>
> {
  const passwordHash = await hashPassword(TEST_PASSWORD)
  return async (role = 'user') => {
    const email = `${crypto.randomUUID()}@example.com`
    const account = { name: 'Test User', email, passwordHash, role, now: clock.now() }
    const { userId } = await commit(database, (trx, record) => insertAccount(trx, record, account))
    return { userId, email }
  }
}
