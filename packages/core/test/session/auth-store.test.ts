import { type AuthStore, sessionsOf, withAuthStore } from '@sallyport/core'
import { expect, test } from 'vitest'
import { memoryFeed } from '../../src/revocations/feed.ts'

const store: AuthStore = { sessions: { findSession: async () => null }, revocations: memoryFeed() }

test("a database handle carries its store without other changes, and doesn't expose it", () => {
  const handle = { select: () => 1 }
  const db = withAuthStore(handle, store)
  expect(db).toBe(handle)
  expect(sessionsOf(db)).toBe(store.sessions)
  expect(Object.keys(db)).toEqual(['select'])
})

test('each handle has the store it was given last', () => {
  const other: AuthStore = { ...store, sessions: { findSession: async () => null } }
  const [one, two] = [withAuthStore({}, store), withAuthStore({}, other)]
  expect(sessionsOf(one)).toBe(store.sessions)
  expect(sessionsOf(two)).toBe(other.sessions)
  expect(sessionsOf(withAuthStore(one, other))).toBe(other.sessions)
})
