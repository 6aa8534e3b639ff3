import { verifyJwt } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { sessionSql } from '../../src/database/find-session-sql.ts'
import { transact } from '../../src/lifecycle/transact.ts'
import { inUserQueue } from '../../src/lifecycle/user-queue.ts'
import { reasonOf } from '../support/reason-of.ts'

const wait = (turn: Promise<void>) => turn

/** Returns work that shows whether it has started, and ends on request. */
function work() {
  const done = Promise.withResolvers<void>()
  const state = { hasStarted: false, end: done.resolve }
  return Object.assign(state, {
    run() {
      state.hasStarted = true
      return done.promise
    },
  })
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('work for one user starts when the earlier work has ended', async () => {
  const locks = {}
  const [first, second] = [work(), work()]
  const options = { locks, userId: 'ada', wait }
  const running = [first, second].map((one) => inUserQueue(options, () => one.run()))
  await settled()
  expect([first.hasStarted, second.hasStarted]).toEqual([true, false])
  first.end()
  await settled()
  expect(second.hasStarted).toBe(true)
  second.end()
  await Promise.all(running)
})

test("other users, and other databases, don't wait", async () => {
  const [first, other, elsewhere] = [work(), work(), work()]
  const locks = {}
  const running = [
    inUserQueue({ locks, userId: 'ada', wait }, () => first.run()),
    inUserQueue({ locks, userId: 'grace', wait }, () => other.run()),
    inUserQueue({ locks: {}, userId: 'ada', wait }, () => elsewhere.run()),
  ]
  await settled()
  expect([other.hasStarted, elsewhere.hasStarted]).toEqual([true, true])
  for (const one of [first, other, elsewhere]) one.end()
  await Promise.all(running)
})

test("a caller that gives up doesn't let later ones overtake earlier ones", async () => {
  const locks = {}
  const [first, third] = [work(), work()]
  const running = inUserQueue({ locks, userId: 'ada', wait }, () => first.run())
  const aborted = inUserQueue({ locks, userId: 'ada', wait: () => Promise.reject(new Error('left')) }, () =>
    Promise.reject(new Error('begun')),
  )
  await expect(aborted).rejects.toThrow('left')
  const last = inUserQueue({ locks, userId: 'ada', wait }, () => third.run())
  await settled()
  expect(third.hasStarted).toBe(false)
  first.end()
  await settled()
  expect(third.hasStarted).toBe(true)
  third.end()
  await Promise.all([running, last])
})

test('failed work has ended', async () => {
  const locks = {}
  const options = { locks, userId: 'ada', wait }
  await expect(inUserQueue(options, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  await expect(inUserQueue(options, async () => 'done')).resolves.toBe('done')
})

test('a transaction without conditions of its own still validates the session', async () => {
  const auth = await createTestAuth()
  onTestFinished(() => void auth.close())
  const { token } = await auth.signIn()
  const identity = await verifyJwt(token, auth.config)
  const options = { config: auth.config, locks: { sql: sessionSql('sqlite') } }
  const run = async () => transact(auth.db, identity, options, async () => 'done')
  expect(await run()).toBe('done')
  await auth.db.deleteFrom('session').execute()
  expect(await reasonOf(run())).toBe('SESSION_NOT_FOUND')
})

test('the transactions of a user in copies of a database run one after another', async () => {
  const auth = await createTestAuth()
  onTestFinished(() => void auth.close())
  const { token } = await auth.signIn()
  const identity = await verifyJwt(token, auth.config)
  const options = { config: auth.config, locks: { sql: sessionSql('sqlite') } }
  const [first, second] = [auth.db.withoutPlugins(), auth.db.withoutPlugins()]
  const begin = vi.spyOn(second, 'transaction')
  const running = transact(first, identity, options, async () => expect(begin).not.toHaveBeenCalled())
  await Promise.all([running, transact(second, identity, options, async () => {})])
  expect(begin).toHaveBeenCalledOnce()
})
