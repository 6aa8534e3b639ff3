import type { TestAuth, TestSession } from '@sallyport/core/testing'
import { type Mock, onTestFinished, vi } from 'vitest'

/** Collects what a live stream of this session receives during the test. */
export function subscribeToSession(
  { database }: Pick<TestAuth, 'database'>,
  { sessionId, userId }: Pick<TestSession, 'sessionId' | 'userId'>,
): Mock<() => void> {
  const listener = vi.fn<() => void>()
  onTestFinished(database.revocations.subscribe({ sessionId, userId }, listener))
  return listener
}
