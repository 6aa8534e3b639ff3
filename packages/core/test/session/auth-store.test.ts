import { type AuthStore, directAdapter, withAuthStore } from '@sallyport/core'
import { expect, test } from 'vitest'
import { memoryFeed } from '../../src/revocations/memory-feed.ts'

const store: AuthStore = { sessions: { findSession: async () => null }, revocations: memoryFeed() }

test('a database handle carries its store, stays what it was and shows nothing of it', () => {
  const handle = { select: () => 1 }
  const db = withAuthStore(handle, store)
  expect(db).toBe(handle)
  expect(directAdapter(db)).toBe(store.sessions)
  expect(Object.keys(db)).toEqual(['select'])
})

test('each handle has the store it was given last', () => {
  const other: AuthStore = { ...store, sessions: { findSession: async () => null } }
  const [one, two] = [withAuthStore({}, store), withAuthStore({}, other)]
  expect(directAdapter(one)).toBe(store.sessions)
  expect(directAdapter(two)).toBe(other.sessions)
  expect(directAdapter(withAuthStore(one, other))).toBe(other.sessions)
})
