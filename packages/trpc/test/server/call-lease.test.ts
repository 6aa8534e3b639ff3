import { AuthError, type AuthStore } from '@sallyport/core'
import { keysVersion } from '@sallyport/core/internal/server'
import { createTestAuth } from '@sallyport/core/testing'
import { TRPCError } from '@trpc/server'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { CallLease, callLease } from '../../src/server/call-lease.ts'
import type { SessionRead } from '../../src/server/session-read.ts'
import { endStreams } from '../../src/server/stopping-streams.ts'
import { type CountingFeed, countingFeed } from '../support/counting-feed.ts'

const failures: object[] = []
const auth = await createTestAuth({ onFailure: ({ path, step }) => void failures.push({ path, step }) })
let feed: CountingFeed
let read: SessionRead
afterAll(() => auth.close())
beforeEach(async () => {
  feed = countingFeed(auth.database.revocations)
  const store: AuthStore = { sessions: auth.lookups.sessions, revocations: feed }
  failures.length = 0
  const signedIn = await auth.signIn()
  const session = await store.sessions.findSession(signedIn)
  if (session === null) throw new TypeError('There is no such session')
  const { sessionId, userId, version } = signedIn
  const { kid: keyId } = auth.definition.signingKeys.active
  const key = { issuer: auth.config.issuer, keyId, expiresAt: session.expiresAt }
  read = {
    identity: { sessionId, userId, version, ...key },
    session,
    store,
    revision: feed.revision,
    keysVersion: keysVersion(auth.config),
    readAt: performance.now(),
  }
})

const open = (options: Partial<ConstructorParameters<typeof CallLease>[1]> = {}) =>
  new CallLease(read, {
    outer: {},
    config: auth.config,
    path: 'ticks',
    callers: [],
    isResumable: false,
    isOver: false,
    ...options,
  })

describe('a caller who has gone away', () => {
  test('before the stream begins costs no subscription', () => {
    const caller = AbortSignal.abort()
    const { signal } = open({ callers: [caller] }).openStream()
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({ cause: caller.reason })
    expect(feed.subscriptions).toBe(0)
  })

  test('later ends the subscription, and aborts the signal with their reason', () => {
    const caller = new AbortController()
    const lease = open({ callers: [caller.signal] })
    const { signal } = lease.openStream()
    expect([signal.aborted, feed.listeners]).toEqual([false, 1])
    caller.abort(new DOMException('Too slow', 'TimeoutError'))
    expect([signal.aborted, feed.listeners]).toEqual([true, 0])
    expect(signal.reason).toMatchObject({ cause: caller.signal.reason })
    expect(lease.openStream().signal.aborted).toBe(true)
    expect([feed.listeners, feed.subscriptions]).toEqual([0, 1])
  })

  test.each([undefined, 'Error: aborted', new Error('aborted')])(
    'aborts the signal with an error that tRPC does not report as internal, if its reason is %s',
    (reason) => {
      const { signal } = open({ callers: [AbortSignal.abort(reason)] })
      expect(signal.reason).toBeInstanceOf(TRPCError)
      expect(signal.reason).toMatchObject({ name: 'AbortError', code: 'CLIENT_CLOSED_REQUEST' })
    },
  )

  test('after the last stream has ended no longer matters', () => {
    const caller = new AbortController()
    const stream = open({ callers: [caller.signal] }).openStream()
    stream.end()
    caller.abort('gone')
    expect([stream.signal.aborted, feed.listeners]).toEqual([false, 0])
  })
})

test('a call without a caller ends its signal, too', () => {
  const lease = open()
  const { signal } = lease
  lease.abandon()
  expect([signal.aborted, feed.listeners]).toEqual([true, 0])
})

test('a stream whose reader has left ends the signal with the last stream', () => {
  const lease = open()
  const [first, second] = [lease.openStream(), lease.openStream()]
  first.abandon()
  expect(lease.signal.aborted).toBe(false)
  second.abandon()
  second.abandon()
  expect([lease.signal.aborted, feed.listeners]).toEqual([true, 0])
})

test('a stream that begins after its caller has gone away leaves nothing for the end of the server', async () => {
  const lease = open({ callers: [AbortSignal.abort()], isResumable: true })
  const { signal } = lease.openStream()
  endStreams(feed)
  await Promise.resolve()
  expect(signal.reason).toMatchObject({ name: 'AbortError' })
})

describe('the subscription', () => {
  test('ends with the last of several streams, each of which counts once', () => {
    const lease = open()
    const [first, second] = [lease.openStream(), lease.openStream()]
    expect(feed.subscriptions).toBe(1)
    first.end()
    first.end()
    expect(feed.listeners).toBe(1)
    second.end()
    expect(feed.listeners).toBe(0)
  })

  test('begins with the first use of the signal, but not after the call', () => {
    expect(open({ isOver: true }).signal.aborted).toBe(false)
    expect(feed.subscriptions).toBe(0)
    const lease = open()
    expect([lease.signal.aborted, feed.listeners]).toEqual([false, 1])
    lease.end()
    expect([lease.signal.aborted, feed.subscriptions, feed.listeners]).toEqual([false, 1, 0])
  })
})

describe('a condition of a guard', () => {
  test('that a later read no longer meets ends the stream with its error', () => {
    const lease = open()
    let error: AuthError | null = null
    lease.conditions.push(
      () => null,
      () => error,
    )
    const { signal } = lease.openStream()
    lease.onSession(read.session)
    expect(signal.aborted).toBe(false)
    error = new AuthError('ROLE_REQUIRED')
    lease.onSession(read.session)
    expect(signal.reason).toBeInstanceOf(TRPCError)
    expect(signal.reason).toMatchObject({ code: 'FORBIDDEN', cause: { reason: 'ROLE_REQUIRED' } })
    expect(feed.listeners).toBe(0)
  })

  test('that throws leaves it unknown whether the session may go on', () => {
    const lease = open()
    lease.conditions.push(() => {
      throw new Error('the condition has a fault')
    })
    const { signal } = lease.openStream()
    lease.onSession(read.session)
    expect(signal.reason).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(failures).toEqual([{ path: 'ticks', step: 'step2' }])
  })

  test('holds for the guards around it, too', () => {
    const outer = open()
    const inner = open({ outer: { [callLease]: outer } })
    inner.conditions.push(() => new AuthError('ROLE_REQUIRED'))
    const { signal } = outer.openStream()
    outer.onSession(read.session)
    expect(signal.aborted).toBe(true)
  })
})

test('keeps the reason of an error from the source, and other errors as they are', () => {
  const other = new Error('the source has a fault')
  const stream = open({ path: 'numbers' }).openStream()
  expect(stream.withReason(other)).toBe(other)
  expect(stream.withReason(new AuthError('SESSIONS_UNAVAILABLE'))).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    cause: { reason: 'SESSIONS_UNAVAILABLE' },
  })
  expect(failures).toEqual([{ path: 'numbers', step: 'procedure' }])
})

test('ends with the server only if the client continues elsewhere', async () => {
  const [resumable, other] = [open({ isResumable: true }).openStream(), open().openStream()]
  const ended = open({ isResumable: true }).openStream()
  ended.end()
  endStreams(feed)
  expect(resumable.signal.reason).toMatchObject({ cause: { reason: 'SESSIONS_UNAVAILABLE' } })
  expect([other.signal.aborted, ended.signal.aborted]).toEqual([false, false])
  const later = open({ isResumable: true }).openStream()
  expect(later.signal.aborted).toBe(false)
  await Promise.resolve()
  expect(later.signal.aborted).toBe(true)
})
