import { getEventListeners } from 'node:events'
import { AuthError, type Session } from '@sallyport/core'
import { authStore, keysVersion } from '@sallyport/core/internal/server'
import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { addCondition, CallLease, type Condition, callLease } from '../../src/server/call-lease.ts'
import { type CountingFeed, countingFeed } from '../support/counting-feed.ts'
import { deferred } from '../support/deferred.ts'
import { type FaultyStore, faultyStore } from '../support/faulty-store.ts'
import { soon } from '../support/soon.ts'

let auth: TestAuth
let feed: CountingFeed
let store: FaultyStore
let lease: CallLease
beforeAll(async () => {
  auth = await createTestAuth()
  feed = countingFeed(auth.database.revocations)
  store = faultyStore(auth.lookups.sessions)
})
afterEach(() => {
  lease.end()
  store.answer = null
  expect(feed.listeners).toBe(0)
})
afterAll(() => auth.close())

/** Creates the lease of a call that was authorized just now. */
async function authorize({
  signedIn,
  caller,
  conditions = [],
}: {
  signedIn?: TestSession
  caller?: AbortSignal
  conditions?: Condition[]
} = {}): Promise<TestSession> {
  const key = signedIn ?? (await auth.signIn())
  const session = await readSession(key)
  lease = new CallLease({}, { config: auth.config, caller })
  lease.conditions.push(...conditions)
  lease.begin({
    identity: {
      ...key,
      expiresAt: session.expiresAt,
      issuer: auth.config.issuer,
      keyId: auth.definition.signingKeys.active.kid,
    },
    session,
    store: { sessions: store, revocations: feed },
    revision: feed.revision,
    keysVersion: keysVersion(auth.config),
    readAt: performance.now(),
  })
  auth.lookups.reset()
  return key
}

async function readSession(key: TestSession): Promise<Session> {
  const session = await auth.db[authStore].sessions.findSession(key)
  if (session === null) throw new TypeError('There is no such session')
  return session
}

/** Holds every answer back until the returned function lets the oldest one go. */
function holdAnswers(): () => void {
  const held: (() => void)[] = []
  store.answer = async (find) => {
    const answer = deferred<void>()
    held.push(() => answer.resolve())
    await answer.promise
    return find()
  }
  return () => held.shift()?.()
}

describe('the lease of a call', () => {
  test('costs nothing before a stream or the signal is used', async () => {
    const before = feed.subscriptions
    await authorize()
    lease.end()
    expect(feed.subscriptions).toBe(before)
  })

  test('cannot be used before a session was read', () => {
    lease = new CallLease({}, { config: auth.config, caller: undefined })
    expect(() => lease.read).toThrow(TypeError)
    expect(() => lease.openStream()).toThrow(TypeError)
  })

  test('begins with the first read, and a later one does not hide what happened in between', async () => {
    const signedIn = await authorize()
    const { read } = lease
    await auth.revoke(signedIn)
    lease.begin({ ...read, revision: feed.revision })
    const { pending, signal } = lease.openStream()
    await pending()
    expect(signal.reason).toMatchObject({ cause: { reason: 'SESSION_NOT_FOUND' } })
  })

  test('is one for the signal and all streams, and ends with the last of them', async () => {
    await authorize()
    const streams = [lease.openStream(), lease.openStream()]
    for (const { signal } of streams) expect(signal).toBe(lease.signal)
    expect(feed.listeners).toBe(1)
    streams[0]?.end()
    // Ended again, it doesn't count again.
    streams[0]?.end()
    expect(feed.listeners).toBe(1)
    streams[1]?.end()
    expect(feed.listeners).toBe(0)
  })

  test('begins anew for a stream that is first read when the others have ended', async () => {
    const signedIn = await authorize()
    lease.openStream().end()
    const { signal } = lease.openStream()
    expect(feed.listeners).toBe(1)
    await auth.revoke(signedIn)
    await new Promise((resolve) => setImmediate(resolve))
    expect(signal.reason).toMatchObject({ cause: { reason: 'SESSION_NOT_FOUND' } })
    expect(feed.listeners).toBe(0)
  })

  test('does not begin anew if the signal is used when the call is over', async () => {
    await authorize()
    lease.end()
    expect(lease.signal.aborted).toBe(false)
    expect(feed.listeners).toBe(0)
  })

  test('does not end under open streams when the signal is used late', async () => {
    await authorize()
    lease.end()
    lease.openStream()
    expect(lease.signal.aborted).toBe(false)
    expect(feed.listeners).toBe(1)
  })

  test('aborts the signal when it is abandoned', async () => {
    await authorize()
    const { signal } = lease
    lease.abandon()
    expect(signal.aborted).toBe(true)
    expect(feed.listeners).toBe(0)
  })

  test('takes conditions by the handle of its call, and other handles are left alone', async () => {
    await authorize()
    const condition = () => null
    addCondition(condition, { [callLease]: lease })
    addCondition(condition, {})
    expect(lease.conditions).toEqual([condition])
  })

  test('shares its conditions with a nested guard', async () => {
    await authorize()
    const inner = new CallLease({ [callLease]: lease }, { config: auth.config, caller: undefined })
    expect(inner.conditions).toBe(lease.conditions)
  })
})

describe('a stream of a leased call', () => {
  test('reads nothing while nothing happens, also for a session that lasts longer than a timer can', async () => {
    await authorize()
    const stream = lease.openStream()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(auth.lookups.count).toBe(0)
    expect(stream.pending()).toBeNull()
    expect(stream.signal.aborted).toBe(false)
  })

  test('is pending from the announcement of a revocation to the result of the read', async () => {
    const session = await authorize()
    const stream = lease.openStream()
    const answer = holdAnswers()
    feed.publish(session)
    expect(stream.pending()).not.toBeNull()
    answer()
    await stream.pending()
    expect(stream.pending()).toBeNull()
    expect(stream.signal.aborted).toBe(false)
  })

  test('is not pending for ever when it is stopped during a check: a reader that waits would never come to rest', async () => {
    const session = await authorize()
    const stream = lease.openStream()
    const answer = holdAnswers()
    feed.publish(session)
    const pending = stream.pending()
    stream.end()
    answer()
    await pending
    expect(stream.pending()).toBeNull()
  })

  test('stays pending until the last of several checks', async () => {
    const session = await authorize()
    const stream = lease.openStream()
    const answer = holdAnswers()
    feed.publish(session)
    const first = stream.pending()
    feed.publish(session)
    answer()
    await first
    expect(stream.pending()).not.toBeNull()
    answer()
    await stream.pending()
    expect(stream.pending()).toBeNull()
  })

  test('ends if any check rejects it', async () => {
    const session = await authorize()
    const stream = lease.openStream()
    const answer = holdAnswers()
    feed.publish(session)
    await auth.revoke(session)
    answer()
    answer()
    await soon(() => expect(stream.signal.aborted).toBe(true))
    expect(stream.signal.reason).toMatchObject({
      code: 'UNAUTHORIZED',
      cause: { reason: 'SESSION_NOT_FOUND' },
    })
    expect(stream.pending()).toBeNull()
  })

  test('ends at once when the session was revoked before it was read', async () => {
    await auth.revoke(await authorize())
    const stream = lease.openStream()
    expect(stream.pending()).not.toBeNull()
    await stream.pending()
    expect(stream.signal.reason).toMatchObject({ cause: { reason: 'SESSION_NOT_FOUND' } })
  })

  test('does not end with an expired ban, nor with a change of role', async () => {
    const session = await authorize()
    const stream = lease.openStream()
    await auth.db.updateTable('user').set({ role: 'editor' }).where('id', '=', session.userId).execute()
    feed.publish({ sessionId: null, userId: session.userId })
    await stream.pending()
    expect(stream.signal.aborted).toBe(false)
    expect(auth.lookups.count).toBe(1)
  })

  test('ends when a renewed session reaches its new expiresAt', async () => {
    const session = await auth.signIn()
    const expireIn = (ms: number) =>
      auth.db
        .updateTable('session')
        .set({ expiresAt: new Date(auth.clock.now().getTime() + ms) })
        .where('id', '=', session.sessionId)
        .execute()
    await expireIn(40)
    await authorize({ signedIn: session })
    const stream = lease.openStream()
    auth.clock.advance(1)
    await expireIn(40)
    await soon(() => expect(auth.lookups.count).toBe(1))
    expect(stream.signal.aborted).toBe(false)
    auth.clock.advance(1)
    await soon(() => expect(stream.signal.aborted).toBe(true))
    expect(stream.signal.reason).toMatchObject({ cause: { reason: 'SESSION_EXPIRED' } })
  })

  test.each([
    { role: 'editor', ends: 'ROLE_REQUIRED' },
    { role: 'admin', ends: null },
  ])('asks its conditions of every read: as $role it ends with $ends', async ({ role, ends }) => {
    const signedIn = await auth.signIn({ role: 'admin' })
    const isAdmin: Condition = ({ user }) => (user.role === 'admin' ? null : new AuthError('ROLE_REQUIRED'))
    await authorize({ signedIn, conditions: [() => null, isAdmin] })
    const stream = lease.openStream()
    await auth.db.updateTable('user').set({ role }).where('id', '=', signedIn.userId).execute()
    feed.publish({ sessionId: null, userId: signedIn.userId })
    await stream.pending()
    expect(stream.signal.aborted).toBe(ends !== null)
    if (ends !== null)
      expect(stream.signal.reason).toMatchObject({ code: 'FORBIDDEN', cause: { reason: ends } })
  })

  test('leaves no listener on the signal of the caller behind', async () => {
    const page = new AbortController()
    await authorize({ caller: page.signal })
    const stream = lease.openStream()
    expect(getEventListeners(page.signal, 'abort')).toHaveLength(1)
    stream.end()
    expect(getEventListeners(page.signal, 'abort')).toEqual([])
  })

  test('ends with the caller, and leaves nothing behind', async () => {
    const page = new AbortController()
    await authorize({ caller: page.signal })
    const stream = lease.openStream()
    page.abort()
    expect(stream.signal.aborted).toBe(true)
    expect(stream.signal.reason).toBe(page.signal.reason)
    expect(feed.listeners).toBe(0)
  })

  test('never begins for a caller who has gone already', async () => {
    await authorize({ caller: AbortSignal.abort() })
    const stream = lease.openStream()
    expect(stream.signal.aborted).toBe(true)
    expect(feed.listeners).toBe(0)
  })
})
