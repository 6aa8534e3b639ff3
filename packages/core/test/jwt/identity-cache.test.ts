import type { Identity } from '@sallyport/core'
import { expect, test } from 'vitest'
import { createIdentityCache } from '../../src/jwt/identity-cache.ts'

const identity = (userId: string): Identity => ({
  userId,
  sessionId: 's',
  version: 1,
  issuer: 'i',
  keyId: 'k',
  expiresAt: new Date(0),
})

test('finds an identity by its whole token', () => {
  const cache = createIdentityCache(10)
  cache.set('a.b.c', 1, identity('ada'))
  expect(cache.get('a.b.c', 1)).toEqual(identity('ada'))
  expect(cache.get('a.b.d', 1)).toBeUndefined()
  expect(cache.get('a.b', 1)).toBeUndefined()
})

test('holds no more entries than its limit', () => {
  const cache = createIdentityCache(3)
  for (let i = 0; i < 100; i++) cache.set(`token ${i}`, 1, identity(`user ${i}`))
  expect(cache.size).toBe(3)
})

test('evicts the oldest entry first', () => {
  const cache = createIdentityCache(2)
  for (const token of ['first', 'second', 'third']) cache.set(token, 1, identity(token))
  expect(cache.get('first', 1)).toBeUndefined()
  expect(cache.get('second', 1)).toEqual(identity('second'))
  expect(cache.get('third', 1)).toEqual(identity('third'))
})

test('finds nothing for another version of the key set', () => {
  const cache = createIdentityCache(10)
  cache.set('token', 1, identity('ada'))
  expect(cache.get('token', 2)).toBeUndefined()
})

test('is cleared by the first entry of another version', () => {
  const cache = createIdentityCache(10)
  cache.set('old', 1, identity('ada'))
  cache.set('new', 2, identity('bob'))
  expect(cache.size).toBe(1)
  expect(cache.get('old', 2)).toBeUndefined()
  expect(cache.get('new', 2)).toEqual(identity('bob'))
})

test('ignores what was verified with a set that was replaced in the meantime', () => {
  const cache = createIdentityCache(2)
  cache.set('new', 2, identity('ada'))
  cache.set('old', 1, identity('eve'))
  expect([cache.get('old', 1), cache.get('old', 2), cache.size]).toEqual([undefined, undefined, 1])
})
