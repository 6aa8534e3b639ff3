import { expect, test } from 'vitest'
import { inUserLine } from '../../src/lifecycle/user-line.ts'

const patiently = (turn: Promise<void>) => turn

/** Work that has begun when it says so, and ends when it is told. */
function work() {
  const done = Promise.withResolvers<void>()
  const state = { hasBegun: false, end: done.resolve }
  return Object.assign(state, {
    run() {
      state.hasBegun = true
      return done.promise
    },
  })
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('work of one user begins when the work before it is over', async () => {
  const db = {}
  const [first, second] = [work(), work()]
  const options = { db, userId: 'ada', wait: patiently }
  const running = [first, second].map((one) => inUserLine(options, () => one.run()))
  await settled()
  expect([first.hasBegun, second.hasBegun]).toEqual([true, false])
  first.end()
  await settled()
  expect(second.hasBegun).toBe(true)
  second.end()
  await Promise.all(running)
})

test('other users, and other databases, do not wait', async () => {
  const [first, other, elsewhere] = [work(), work(), work()]
  const db = {}
  const running = [
    inUserLine({ db, userId: 'ada', wait: patiently }, () => first.run()),
    inUserLine({ db, userId: 'grace', wait: patiently }, () => other.run()),
    inUserLine({ db: {}, userId: 'ada', wait: patiently }, () => elsewhere.run()),
  ]
  await settled()
  expect([other.hasBegun, elsewhere.hasBegun]).toEqual([true, true])
  for (const one of [first, other, elsewhere]) one.end()
  await Promise.all(running)
})

test('whoever gives up lets nobody pass those before', async () => {
  const db = {}
  const [first, third] = [work(), work()]
  const running = inUserLine({ db, userId: 'ada', wait: patiently }, () => first.run())
  const impatient = inUserLine({ db, userId: 'ada', wait: () => Promise.reject(new Error('left')) }, () =>
    Promise.reject(new Error('begun')),
  )
  await expect(impatient).rejects.toThrow('left')
  const last = inUserLine({ db, userId: 'ada', wait: patiently }, () => third.run())
  await settled()
  expect(third.hasBegun).toBe(false)
  first.end()
  await settled()
  expect(third.hasBegun).toBe(true)
  third.end()
  await Promise.all([running, last])
})

test('work that fails is over', async () => {
  const db = {}
  const options = { db, userId: 'ada', wait: patiently }
  await expect(inUserLine(options, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  await expect(inUserLine(options, async () => 'done')).resolves.toBe('done')
})
