import { authStore, withAuthStore } from '@sallyport/core'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { authRequest } from '../../src/server/auth-handle.ts'
import { type CallWatch, callWatch, createCallWatch, holdTo } from '../../src/server/call-lease.ts'
import { type CountingFeed, countingFeed } from '../support/counting-feed.ts'
import { browser } from '../support/visitor.ts'

let auth: TestAuth
let feed: CountingFeed
let watch: CallWatch
let revoke: () => Promise<void>
beforeAll(async () => {
  auth = await createTestAuth()
})
beforeEach(async () => {
  const session = await auth.signIn()
  feed = countingFeed(auth.database.revocations)
  const db = withAuthStore({}, { sessions: auth.lookups.sessions, revocations: feed })
  const context = { ...createAuthContext(auth.config).headers(browser(session).headers), db }
  const admission = await context.auth[authRequest].authenticate(db[authStore], 'query')
  watch = createCallWatch(admission, context, { store: db[authStore], caller: undefined })
  revoke = () => auth.revoke(session)
})
afterAll(() => auth.close())

test('costs nothing before something asks for it', () => {
  watch.stop()
  expect(feed.subscriptions).toBe(0)
})

test('is one for the signal and all streams of a call', () => {
  const signal = watch.signal()
  expect(watch.start().signal).toBe(signal)
  expect(watch.start().signal).toBe(signal)
  expect(feed.listeners).toBe(1)
  watch.stop()
  expect(feed.listeners).toBe(0)
})

test('begins anew for a stream that is first read when the others have ended', async () => {
  watch.start()
  watch.stop()
  const { signal } = watch.start()
  expect(feed.listeners).toBe(1)
  await revoke()
  await new Promise((resolve) => setImmediate(resolve))
  expect(signal.reason).toMatchObject({ cause: { reason: 'SESSION_NOT_FOUND' } })
  expect(feed.listeners).toBe(0)
})

test('does not begin anew for who asks for the signal when the call is over', () => {
  watch.stop()
  expect(watch.signal().aborted).toBe(false)
  expect(feed.listeners).toBe(0)
})

test('does not end under the streams that are left when the signal is asked for late', () => {
  watch.stop()
  watch.start()
  watch.signal()
  expect(feed.listeners).toBe(1)
  watch.stop()
})

test('aborts the signal when nobody is there any more', () => {
  const signal = watch.signal()
  watch.leave()
  expect(signal.aborted).toBe(true)
  expect(feed.listeners).toBe(0)
})

test('takes conditions by the handle of its call, and other handles do not mind', () => {
  const condition = () => null
  holdTo(condition, { [callWatch]: watch })
  holdTo(condition, {})
  expect(watch.conditions).toEqual([condition])
})
