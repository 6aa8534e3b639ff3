import { beforeEach, expect, test } from 'vitest'
import { memoryFeed } from '../../src/revocations/feed.ts'

const ada1 = { sessionId: 'a1', userId: 'ada' }
const ada2 = { sessionId: 'a2', userId: 'ada' }
const bob1 = { sessionId: 'b1', userId: 'bob' }
let feed: ReturnType<typeof memoryFeed>
let calls: string[]

beforeEach(() => {
  feed = memoryFeed()
  calls = []
  for (const key of [ada1, ada2, bob1]) feed.subscribe(key, () => calls.push(key.sessionId))
})

test.each([
  ['one session', ada1, ['a1']],
  ['all sessions of a user', { sessionId: null, userId: 'ada' }, ['a1', 'a2']],
  ['a session without listeners', { sessionId: 'a3', userId: 'ada' }, []],
  ['a user without listeners', { sessionId: null, userId: 'eve' }, []],
  ['the session id of one user with the id of another', { sessionId: 'a1', userId: 'bob' }, []],
])(
  'the revocation of %s calls the affected listeners before publish returns',
  (_name, revocation, listeners) => {
    feed.publish(revocation)
    expect(calls).toEqual(listeners)
  },
)

test("doesn't call an unsubscribed listener, accepts a second unsubscribe, and still calls others", () => {
  const unsubscribe = feed.subscribe(ada1, () => calls.push('second'))
  unsubscribe()
  unsubscribe()
  feed.publish(ada1)
  expect(calls).toEqual(['a1'])
})

test('a listener that unsubscribes while it is called does not affect others', () => {
  const unsubscribe = feed.subscribe(ada1, () => {
    unsubscribe()
    calls.push('once')
  })
  feed.subscribe(ada1, () => calls.push('after'))
  feed.publish(ada1)
  feed.publish(ada1)
  expect(calls).toEqual(['a1', 'once', 'after', 'a1', 'after'])
})

test('a listener that subscribes during a revocation is called for later ones', () => {
  const unsubscribe = feed.subscribe(ada1, () => {
    unsubscribe()
    feed.subscribe(ada1, () => calls.push('late'))
  })
  feed.publish(ada1)
  expect(calls).toEqual(['a1'])
  feed.publish(ada1)
  expect(calls).toEqual(['a1', 'a1', 'late'])
})

test('calls a listener that subscribes after the last one left', () => {
  const other = memoryFeed()
  const first = other.subscribe(ada1, () => calls.push('first'))
  first()
  other.subscribe(ada1, () => calls.push('second'))
  first()
  other.publish(ada1)
  expect(calls).toEqual(['second'])
})

test('the revision grows with every revocation, and has grown when a listener is called', () => {
  const before = feed.revision
  const revisions: number[] = []
  feed.subscribe(ada1, () => revisions.push(feed.revision))
  feed.publish(ada1)
  feed.publish({ sessionId: null, userId: 'missing' })
  expect(revisions).toEqual([before + 1])
  expect(feed.revision).toBe(before + 2)
})
