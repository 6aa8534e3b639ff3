import type { TestAuth, TestSession } from '@sallyport/core/testing'
import { type Mock, onTestFinished, vi } from 'vitest'

/** What a live stream of this session hears until the test is over. */
export function hearRevocations(
  { database }: Pick<TestAuth, 'database'>,
  { sessionId, userId }: Pick<TestSession, 'sessionId' | 'userId'>,
): Mock<() => void> {
  const listener = vi.fn<() => void>()
  onTestFinished(database.revocations.subscribe({ sessionId, userId }, listener))
  return listener
}
