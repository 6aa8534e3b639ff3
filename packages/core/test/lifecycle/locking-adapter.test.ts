import { commit } from '@sallyport/core/auth'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { AuthTransaction } from '../../src/database/auth-transaction.ts'
import { lockingAdapter } from '../../src/lifecycle/locking-adapter.ts'
import { type ProvedSession, validateSession } from '../../src/session/validate-session.ts'
import { reasonOf } from '../support/reason-of.ts'

const auth = await createTestAuth()
const { config, database, db, clock } = auth
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn()
})

const validate = (trx: AuthTransaction, key: ProvedSession) =>
  validateSession(key, lockingAdapter(trx), config)
const lock = (key: ProvedSession = ada) => database.db.transaction().execute((trx) => validate(trx, key))

test('a session in a transaction is what Step 2 finds outside', async () => {
  const until = new Date(clock.now().getTime() - 1)
  const changes = { name: 'Ada', role: 'admin' }
  const ban = { banned: true, banReason: 'spam', banExpires: until }
  await db
    .updateTable('user')
    .set({ ...changes, ...ban })
    .where('id', '=', ada.userId)
    .execute()
  expect({ ...(await lock()), ban: { until } }).toEqual(await database.sessions.findSession(ada))
  expect(await lock()).toMatchObject({ id: ada.sessionId, userId: ada.userId, user: changes })
})

describe('what does not count outside does not count inside', () => {
  test.each([
    ['a session that goes on', async () => {}, 'accepted'],
    ['a session that was revoked', () => auth.revoke(ada), 'SESSION_NOT_FOUND'],
    ['a session that has expired', () => auth.expireSession(ada), 'SESSION_EXPIRED'],
    ['a user who was banned', () => auth.ban(ada), 'ACCOUNT_BANNED'],
    [
      'a user who was deleted',
      async () => void (await db.deleteFrom('user').where('id', '=', ada.userId).execute()),
      'SESSION_NOT_FOUND',
    ],
  ])('%s', async (_name, change, reason) => {
    await change()
    expect(await reasonOf(lock())).toBe(reason)
  })

  test("another user's session", async () => {
    const eve = await auth.signIn()
    expect(await reasonOf(lock({ ...ada, userId: eve.userId }))).toBe('SESSION_NOT_FOUND')
  })
})

test('it sees what the transaction itself has done', async () => {
  const reasons = await commit(database, async (trx) => {
    const before = await reasonOf(validate(trx, ada))
    await trx.deleteFrom('session').where('id', '=', ada.sessionId).execute()
    return [before, await reasonOf(validate(trx, ada))]
  })
  expect(reasons).toEqual(['accepted', 'SESSION_NOT_FOUND'])
})

test('a revocation waits for the transaction, or is seen in it', async () => {
  const order: string[] = []
  const write = database.db.transaction().execute(async (trx) => {
    await validate(trx, ada)
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    await trx.updateTable('user').set({ name: 'Written' }).where('id', '=', ada.userId).execute()
    order.push('written')
  })
  const revocation = auth.revoke(ada).then(() => order.push('revoked'))
  await Promise.all([write, revocation])
  expect(order).toEqual(['written', 'revoked'])
  expect(await reasonOf(lock())).toBe('SESSION_NOT_FOUND')
})
