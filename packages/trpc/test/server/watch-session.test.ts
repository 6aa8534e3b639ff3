import { getEventListeners } from 'node:events'
import { AuthError, authStore, keysVersion, type Session } from '@sallyport/core'
import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Condition, type SessionWatch, watchSession } from '../../src/server/watch-session.ts'
import { type CountingFeed, countingFeed } from '../support/counting-feed.ts'
import { deferred } from '../support/deferred.ts'
import { type FaultyStore, faultyStore } from '../support/faulty-store.ts'
import { soon } from '../support/soon.ts'

let auth: TestAuth
let feed: CountingFeed
let store: FaultyStore
let watch: SessionWatch
beforeAll(async () => {
  auth = await createTestAuth()
  feed = countingFeed(auth.database.revocations)
  store = faultyStore(auth.lookups.sessions)
})
afterEach(() => {
  watch.stop()
  store.answer = null
  expect(feed.listeners).toBe(0)
})
afterAll(() => auth.close())

/** The key that the test's tokens are signed with. */
const key = () => ({ issuer: auth.config.issuer, keyId: auth.definition.signingKeys.active.kid })

/** Watches a session from the moment at which it was read. */
async function watchNow(
  options: { session?: TestSession; caller?: AbortSignal; conditions?: Condition[] } = {},
): Promise<TestSession> {
  const signedIn = options.session ?? (await auth.signIn())
  const session = await readSession(signedIn)
  const identity = { ...signedIn, expiresAt: session.expiresAt, ...key() }
  const admission = {
    identity,
    session,
    revision: feed.revision,
    keysVersion: keysVersion(auth.config),
    readAt: performance.now(),
  }
  watch = watchSession(
    admission,
    { sessions: store, revocations: feed },
    { config: auth.config, caller: options.caller, conditions: options.conditions ?? [] },
  )
  auth.lookups.reset()
  return signedIn
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

describe('watchSession', () => {
  test('asks nothing while nothing happens, also for a session that lasts longer than a timer can', async () => {
    await watchNow()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(auth.lookups.count).toBe(0)
    expect(watch.verdict()).toBeNull()
    expect(watch.signal.aborted).toBe(false)
  })

  test('is pending from the announcement of a revocation to its verdict', async () => {
    const session = await watchNow()
    const answer = holdAnswers()
    feed.publish(session)
    expect(watch.verdict()).not.toBeNull()
    answer()
    await watch.verdict()
    expect(watch.verdict()).toBeNull()
    expect(watch.signal.aborted).toBe(false)
  })

  test('is not pending for ever when it is stopped during a check: a reader that waits would never come to rest', async () => {
    const session = await watchNow()
    const answer = holdAnswers()
    feed.publish(session)
    const verdict = watch.verdict()
    watch.stop()
    answer()
    await verdict
    expect(watch.verdict()).toBeNull()
  })

  test('stays pending until the last of several checks', async () => {
    const session = await watchNow()
    const answer = holdAnswers()
    feed.publish(session)
    const first = watch.verdict()
    feed.publish(session)
    answer()
    await first
    expect(watch.verdict()).not.toBeNull()
    answer()
    await watch.verdict()
    expect(watch.verdict()).toBeNull()
  })

  test('ends on the refusal of any check, whatever the others say', async () => {
    const session = await watchNow()
    const answer = holdAnswers()
    feed.publish(session)
    await auth.revoke(session)
    answer()
    answer()
    await soon(() => expect(watch.signal.aborted).toBe(true))
    expect(watch.signal.reason).toMatchObject({
      code: 'UNAUTHORIZED',
      cause: { reason: 'SESSION_NOT_FOUND' },
    })
    expect(watch.verdict()).toBeNull()
  })

  test('ends at once when it was revoked before the watch began', async () => {
    const signedIn = await auth.signIn()
    const session = await readSession(signedIn)
    const { revision } = feed
    await auth.revoke(signedIn)
    const identity = { ...signedIn, expiresAt: session.expiresAt, ...key() }
    const admission = {
      identity,
      session,
      revision,
      keysVersion: keysVersion(auth.config),
      readAt: performance.now(),
    }
    watch = watchSession(
      admission,
      { sessions: store, revocations: feed },
      { config: auth.config, caller: undefined },
    )
    expect(watch.verdict()).not.toBeNull()
    await watch.verdict()
    expect(watch.signal.reason).toMatchObject({ cause: { reason: 'SESSION_NOT_FOUND' } })
  })

  test('does not end with an expired ban, nor with a change of role', async () => {
    const session = await watchNow()
    await auth.db.updateTable('user').set({ role: 'editor' }).where('id', '=', session.userId).execute()
    feed.publish({ sessionId: null, userId: session.userId })
    await watch.verdict()
    expect(watch.signal.aborted).toBe(false)
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
    await watchNow({ session })
    auth.clock.advance(1)
    await expireIn(40)
    await soon(() => expect(auth.lookups.count).toBe(1))
    expect(watch.signal.aborted).toBe(false)
    auth.clock.advance(1)
    await soon(() => expect(watch.signal.aborted).toBe(true))
    expect(watch.signal.reason).toMatchObject({ cause: { reason: 'SESSION_EXPIRED' } })
  })

  test.each([
    { role: 'editor', ends: 'ROLE_REQUIRED' },
    { role: 'admin', ends: null },
  ])('asks its conditions of every read: as $role it ends with $ends', async ({ role, ends }) => {
    const signedIn = await auth.signIn({ role: 'admin' })
    const isAdmin: Condition = ({ user }) => (user.role === 'admin' ? null : new AuthError('ROLE_REQUIRED'))
    await watchNow({ session: signedIn, conditions: [() => null, isAdmin] })
    await auth.db.updateTable('user').set({ role }).where('id', '=', signedIn.userId).execute()
    feed.publish({ sessionId: null, userId: signedIn.userId })
    await watch.verdict()
    expect(watch.signal.aborted).toBe(ends !== null)
    if (ends !== null)
      expect(watch.signal.reason).toMatchObject({ code: 'FORBIDDEN', cause: { reason: ends } })
  })

  test('leaves no listener on the signal of the caller behind', async () => {
    const page = new AbortController()
    await watchNow({ caller: page.signal })
    expect(getEventListeners(page.signal, 'abort')).toHaveLength(1)
    watch.stop()
    expect(getEventListeners(page.signal, 'abort')).toEqual([])
  })

  test('ends with the caller, and leaves nothing behind', async () => {
    const page = new AbortController()
    await watchNow({ caller: page.signal })
    page.abort()
    expect(watch.signal.aborted).toBe(true)
    expect(watch.signal.reason).toBe(page.signal.reason)
    expect(feed.listeners).toBe(0)
  })

  test('never begins for a caller who has gone already', async () => {
    await watchNow({ caller: AbortSignal.abort() })
    expect(watch.signal.aborted).toBe(true)
    expect(feed.listeners).toBe(0)
  })
})
