import { expect, test } from 'vitest'
import { createTestClock } from '../../../../core/src/testing/test-clock.ts'
import { createTokenMemory } from '../../../src/runtime/functions/token-memory.ts'

test('a token is used once', () => {
  const clock = createTestClock()
  const memory = createTokenMemory(clock.now)
  const token = { service: 'edge', id: 'a', expiresAt: new Date(clock.now().getTime() + 30_000) }
  expect([memory.consume(token), memory.consume(token), memory.consume({ ...token, id: 'b' })]).toEqual([
    true,
    false,
    true,
  ])
  expect(memory.consume({ ...token, service: 'reports' })).toBe(true)
})

test('many tokens take no place once they have expired, and no other is forgotten', () => {
  const clock = createTestClock()
  const memory = createTokenMemory(clock.now)
  const expiring = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000)
  const kept = { service: 'edge', id: 'kept', expiresAt: expiring(60) }
  memory.consume(kept)
  for (let i = 0; i < 1_500; i++) memory.consume({ service: 'edge', id: `old ${i}`, expiresAt: expiring(30) })
  clock.advance(30)
  for (let i = 0; i < 600; i++) memory.consume({ service: 'edge', id: `new ${i}`, expiresAt: expiring(30) })
  expect(memory.size).toBeLessThanOrEqual(1_000)
  expect(memory.consume(kept)).toBe(false)
})
