import type { TestAuth } from '@sallyport/core/testing'

/** Returns all stored user data, to check that nothing has changed. */
export async function stored({ db }: Pick<TestAuth, 'db'>): Promise<object> {
  return {
    users: await db.selectFrom('user').selectAll().execute(),
    accounts: await db.selectFrom('account').selectAll().execute(),
    sessions: await db.selectFrom('session').selectAll().execute(),
  }
}
