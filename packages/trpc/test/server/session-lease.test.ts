import {
  type AuthConfig,
  AuthError,
  type AuthStore,
  type Identity,
  isAuthError,
  type Reason,
  type Session,
} from '@sallyport/core'
import { keysVersion } from '@sallyport/core/internal/server'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../core/test/support/until.ts'
import { CallLease } from '../../src/server/call-lease.ts'
import { MAX_READS_PER_TURN } from '../../src/server/lease-queue.ts'
import type { LeaseSubscriber } from '../../src/server/session-lease.ts'
import { type LeaseSubscription, subscribeToLease as subscribeHere } from '../../src/server/session-leases.ts'
import type { SessionRead } from '../../src/server/session-read.ts'
import { type CountingFeed, countingFeed } from '../support/counting-feed.ts'
import { type FaultyStore, faultyStore } from '../support/faulty-store.ts'

const LEASE_MS = 5_000
const DAY = 24 * 60 * 60

const auth = await createTestAuth()
let feed: CountingFeed
let sessions: FaultyStore
let store: AuthStore
let leases: LeaseSubscription[]
let subscribeToLease = subscribeHere
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  feed = countingFeed(auth.database.revocations)
  sessions = faultyStore(auth.lookups.sessions)
  store = { sessions, revocations: feed }
  leases = []
  subscribeToLease = subscribeHere
})
afterEach(async () => {
  sessions.answer = null
  vi.restoreAllMocks()
  for (const lease of leases) lease.end()
  expect(feed.listeners).toBe(0)
  // Finishes pending event-loop turns and timeouts.
  await vi.advanceTimersByTimeAsync(10_000)
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})
afterAll(() => auth.close())

/** A subscriber's lease, and its results. */
interface Subscribed {
  readonly lease: LeaseSubscription
  readonly confirmed: Session[]
  readonly rejected: (Reason | undefined)[]
}

async function readOf(signedIn: TestSession, identity: Partial<Identity> = {}): Promise<SessionRead> {
  const key = { issuer: auth.config.issuer, keyId: auth.definition.signingKeys.active.kid }
  const session = await auth.lookups.sessions.findSession(signedIn)
  if (session === null) throw new TypeError('There is no such session')
  const { sessionId, userId, version } = signedIn
  return {
    identity: { sessionId, userId, version, ...key, expiresAt: session.expiresAt, ...identity },
    session,
    revision: feed.revision,
    keysVersion: keysVersion(auth.config),
    readAt: performance.now(),
    store,
  }
}

function subscribe(
  read: SessionRead,
  { emits = true, config = auth.config }: { emits?: boolean; config?: AuthConfig } = {},
): Subscribed {
  const confirmed: Session[] = []
  const rejected: Subscribed['rejected'] = []
  const subscriber: LeaseSubscriber = {
    emits,
    onSession: (session) => void confirmed.push(session),
    onError(error) {
      rejected.push(isAuthError(error) ? error.reason : undefined)
      if (emits) lease.end()
    },
  }
  const lease = subscribeToLease(read, subscriber, config)
  leases.push(lease)
  auth.lookups.reset()
  return { lease, confirmed, rejected }
}

const subscribeTo = async (signedIn: TestSession, options?: Parameters<typeof subscribe>[1]) =>
  subscribe(await readOf(signedIn), options)

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
/** Suspends the process: time passes without timers. */
function stopFor(ms: number): void {
  const now = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(now + ms)
}
const setExpiry = ({ sessionId }: TestSession, ms: number) =>
  auth.db
    .updateTable('session')
    .set({ expiresAt: new Date(auth.clock.now().getTime() + ms) })
    .where('id', '=', sessionId)
    .execute()
const deleteRow = ({ sessionId }: TestSession) =>
  auth.db.deleteFrom('session').where('id', '=', sessionId).execute()
const isDown = () => Promise.reject(new Error('down'))

/** Holds every result back until the returned function releases the oldest one. */
function holdAnswers(): () => void {
  const held: (() => void)[] = []
  sessions.answer = async (find) => {
    const found = await find()
    await new Promise<void>((resolve) => held.push(resolve))
    return found
  }
  return () => held.shift()?.()
}

describe('one read serves all subscribers of a session', () => {
  test('on an event', async () => {
    const signedIn = await auth.signIn()
    const subscribed = [await subscribeTo(signedIn), await subscribeTo(signedIn), await subscribeTo(signedIn)]
    feed.publish(signedIn)
    await pass(1)
    expect(auth.lookups.count).toBe(1)
    for (const { confirmed } of subscribed) expect(confirmed).toHaveLength(1)
    expect(feed.listeners).toBe(1)
  })

  test('before the lease ends', async () => {
    const signedIn = await auth.signIn()
    const subscribed = [await subscribeTo(signedIn), await subscribeTo(signedIn)]
    await pass(2_050)
    expect(auth.lookups.count).toBe(1)
    for (const { confirmed } of subscribed) expect(confirmed).toHaveLength(1)
  })

  test('even with different JWTs, each of which depends on its own key', async () => {
    const signedIn = await auth.signIn()
    const sound = await subscribeTo(signedIn)
    const refreshed = subscribe(await readOf(signedIn, { expiresAt: new Date(0) }))
    const leaked = subscribe(await readOf(signedIn, { keyId: 'gone too early' }))
    feed.publish(signedIn)
    await pass(1)
    expect(auth.lookups.count).toBe(1)
    expect([sound.rejected, refreshed.rejected, leaked.rejected]).toEqual([[], [], ['TOKEN_INVALID']])
    expect([sound.confirmed, refreshed.confirmed]).toMatchObject([{ length: 1 }, { length: 1 }])
  })

  test('also one who comes after another has left', async () => {
    const signedIn = await auth.signIn()
    const [first, second] = [await subscribeTo(signedIn), await subscribeTo(signedIn)]
    first.lease.end()
    const third = await subscribeTo(signedIn)
    feed.publish(signedIn)
    await pass(1)
    expect([auth.lookups.count, feed.listeners]).toEqual([1, 1])
    expect([second.confirmed, third.confirmed]).toMatchObject([{ length: 1 }, { length: 1 }])
  })

  test('also one who comes after the first has left twice', async () => {
    const signedIn = await auth.signIn()
    const first = await subscribeTo(signedIn)
    first.lease.end()
    const second = await subscribeTo(signedIn)
    first.lease.end()
    const third = await subscribeTo(signedIn)
    feed.publish(signedIn)
    await pass(1)
    expect([auth.lookups.count, feed.listeners]).toEqual([1, 1])
    expect([second.confirmed, third.confirmed]).toMatchObject([{ length: 1 }, { length: 1 }])
  })

  test('but not another version of the session, whose credentials were replaced', async () => {
    const signedIn = await auth.signIn()
    const copy = await subscribeTo(signedIn)
    const replaced = { version: 2, provedVersion: 2 }
    await auth.db.updateTable('session').set(replaced).where('id', '=', signedIn.sessionId).execute()
    const owner = subscribe(await readOf(signedIn, { version: 2 }))
    stopFor(LEASE_MS + 1)
    await owner.lease.pending()
    expect(owner.lease.pending()).toBeNull()
    const pending = copy.lease.pending()
    expect(pending).not.toBeNull()
    await pending
    expect([owner.rejected, copy.rejected]).toEqual([[], ['TOKEN_INVALID']])
  })

  test('but a version that a refresh has rotated out ends with its grace period', async () => {
    const signedIn = await auth.signIn()
    const rotated = { version: 2, rotatedAt: new Date(auth.clock.now().getTime() - 29_000) }
    await auth.db.updateTable('session').set(rotated).where('id', '=', signedIn.sessionId).execute()
    const { lease, rejected } = await subscribeTo(signedIn)
    const idle = await subscribeTo(signedIn, { emits: false })
    expect(lease.pending()).toBeNull()
    auth.clock.advance(2)
    expect(lease.pending()).not.toBeNull()
    await pass(1_100)
    expect(rejected).toEqual(['TOKEN_INVALID'])
    expect(idle.rejected).toContain('TOKEN_INVALID')
  })

  test('but a JWT without a version is of none that could be rotated out', async () => {
    const signedIn = await auth.signIn()
    const { lease } = subscribe(await readOf(signedIn, { version: null }))
    expect(lease.pending()).toBeNull()
  })

  test('but a session without versions has none that could be rotated out', async () => {
    const read = await readOf(await auth.signIn())
    const { lease } = subscribe({ ...read, session: { ...read.session, version: null } })
    expect(lease.pending()).toBeNull()
  })

  /** Loads the module again, as in a runtime with this navigator. */
  async function loadWith(navigator: object | undefined): Promise<void> {
    vi.stubGlobal('navigator', navigator)
    onTestFinished(() => void vi.unstubAllGlobals())
    vi.resetModules()
    ;({ subscribeToLease } = await import('../../src/server/session-leases.ts'))
  }

  test('also where no navigator exists', async () => {
    await loadWith(undefined)
    const signedIn = await auth.signIn()
    for (let stream = 0; stream < 2; stream++) await subscribeTo(signedIn)
    expect(feed.listeners).toBe(1)
  })

  test('but in Cloudflare Workers, each stream has its own lease', async () => {
    await loadWith({ userAgent: 'Cloudflare-Workers' })
    const signedIn = await auth.signIn()
    const streams = [await subscribeTo(signedIn), await subscribeTo(signedIn)]
    expect(feed.listeners).toBe(2)
    feed.publish(signedIn)
    await pass(1)
    expect(auth.lookups.count).toBe(2)
    for (const { confirmed } of streams) expect(confirmed).toHaveLength(1)
  })

  test('also for an idle socket, whose timer does not keep the process alive', async () => {
    const signedIn = await auth.signIn()
    const rotated = { version: 2, rotatedAt: new Date(auth.clock.now().getTime() - 29_000) }
    await auth.db.updateTable('session').set(rotated).where('id', '=', signedIn.sessionId).execute()
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const { rejected } = await subscribeTo(signedIn, { emits: false })
    expect(timers.mock.results.at(-1)?.value.hasRef()).toBe(false)
    auth.clock.advance(1.1)
    await pass(1_100)
    expect(rejected).toEqual(['TOKEN_INVALID'])
    const other = await auth.signIn()
    await setExpiry(other, 1_000)
    await subscribeTo(other)
    expect(timers.mock.results.at(-1)?.value.hasRef()).toBe(true)
  })

  test('also on the edge, where a timer is a number', async () => {
    const signedIn = await auth.signIn()
    const rotated = { version: 2, rotatedAt: new Date(auth.clock.now().getTime() - 29_000) }
    await auth.db.updateTable('session').set(rotated).where('id', '=', signedIn.sessionId).execute()
    const read = await readOf(signedIn)
    const callbacks: (() => void)[] = []
    Object.assign(globalThis, { setTimeout: (callback: () => void) => callbacks.push(callback) })
    const { rejected } = subscribe(read, { emits: false })
    auth.clock.advance(1.1)
    for (const callback of callbacks) callback()
    await until(() => rejected.length > 0)
    expect(rejected).toEqual(['TOKEN_INVALID'])
  })

  test('and reads nothing meanwhile, even if the clock was set back by weeks', async () => {
    const signedIn = await auth.signIn()
    const rotated = { version: 2, rotatedAt: new Date(auth.clock.now().getTime() + 28 * DAY * 1000) }
    await auth.db.updateTable('session').set(rotated).where('id', '=', signedIn.sessionId).execute()
    const { rejected } = await subscribeTo(signedIn, { emits: false })
    await pass(100)
    expect(auth.lookups.count).toBe(0)
    expect(rejected).toEqual([])
  })

  test('but not another session of the same user', async () => {
    const signedIn = await auth.signIn()
    const other = await auth.signIn({ userId: signedIn.userId })
    const [first, second] = [await subscribeTo(signedIn), await subscribeTo(other)]
    await deleteRow(signedIn)
    feed.publish(signedIn)
    await pass(1)
    expect(auth.lookups.count).toBe(1)
    expect([first.rejected, second.rejected]).toEqual([['SESSION_NOT_FOUND'], []])
  })

  test('but not another configuration of the store, with a different clock and keys', async () => {
    const signedIn = await auth.signIn()
    await subscribeTo(signedIn)
    const late = { ...auth.config, now: () => new Date(auth.clock.now().getTime() + 365 * DAY * 1000) }
    const { rejected } = await subscribeTo(signedIn, { config: late })
    feed.publish(signedIn)
    await pass(1)
    expect(auth.lookups.count).toBe(2)
    expect(rejected).toEqual(['SESSION_EXPIRED'])
  })
})

describe('the lease', () => {
  test('is renewed in the background, so a long stream never waits', async () => {
    const { lease, rejected } = await subscribeTo(await auth.signIn())
    for (let second = 0; second < 60; second++) {
      await pass(1_000)
      expect(lease.pending()).toBeNull()
    }
    expect(rejected).toEqual([])
    expect(auth.lookups.count).toBeGreaterThanOrEqual(60 / 3)
    expect(auth.lookups.count).toBeLessThanOrEqual(60 / 2)
  })

  test('is renewed also once an idle socket of the session has left', async () => {
    const signedIn = await auth.signIn()
    const { lease } = await subscribeTo(signedIn)
    const idle = await subscribeTo(signedIn, { emits: false })
    idle.lease.end()
    await pass(2_050)
    expect(auth.lookups.count).toBe(1)
    expect(lease.pending()).toBeNull()
  })

  test('delays the end after an unannounced revocation by at most its duration', async () => {
    const signedIn = await auth.signIn()
    const { rejected } = await subscribeTo(signedIn)
    await deleteRow(signedIn)
    await pass(3_000)
    expect(rejected).toEqual(['SESSION_NOT_FOUND'])
  })

  test.each([
    { stoppedFor: 4_990, isKnown: true },
    { stoppedFor: 5_001, isKnown: false },
    { stoppedFor: 10_000, isKnown: false },
  ])('after $stoppedFor ms without a timer, the session is known to be valid: $isKnown', async (row) => {
    const signedIn = await auth.signIn()
    const { lease, rejected } = await subscribeTo(signedIn)
    await deleteRow(signedIn)
    stopFor(row.stoppedFor)
    const pending = lease.pending()
    expect(pending === null).toBe(row.isKnown)
    await pending
    expect(rejected).toEqual(row.isKnown ? [] : ['SESSION_NOT_FOUND'])
  })

  test('that is over is renewed by one read for all waiting subscribers, and the stream continues', async () => {
    const signedIn = await auth.signIn()
    const [first, second] = [await subscribeTo(signedIn), await subscribeTo(signedIn)]
    stopFor(10_000)
    expect(first.lease.pending()).not.toBeNull()
    await Promise.all([first.lease.pending(), first.lease.pending(), second.lease.pending()])
    expect(auth.lookups.count).toBe(1)
    expect([first.lease.pending(), second.lease.pending()]).toEqual([null, null])
    expect([...first.rejected, ...second.rejected]).toEqual([])
  })

  test('starts at the read that authorized the call, not at the stream', async () => {
    const read = await readOf(await auth.signIn())
    stopFor(LEASE_MS + 1)
    expect(subscribe(read).lease.pending()).not.toBeNull()
  })

  test('starts at the oldest read of all subscribers', async () => {
    const signedIn = await auth.signIn()
    const { rejected } = await subscribeTo(signedIn)
    await pass(1_000)
    await subscribeTo(signedIn)
    sessions.answer = () => new Promise(() => {})
    await pass(3_900)
    expect(rejected).toEqual([])
    await pass(300)
    expect(rejected).toEqual(['SESSIONS_UNAVAILABLE'])
  })

  test('starts at the beginning of a read, not at its result', async () => {
    const { lease } = await subscribeTo(await auth.signIn())
    const answer = holdAnswers()
    await pass(3_500)
    answer()
    await pass(1)
    stopFor(LEASE_MS - 1_500 + 100)
    expect(lease.pending()).not.toBeNull()
    answer()
    await pass(1)
  })
})

describe('a store that does not respond', () => {
  test('is queried again, and nothing is lost if it responds before the lease is over', async () => {
    const { lease, confirmed, rejected } = await subscribeTo(await auth.signIn())
    sessions.answer = isDown
    await pass(4_000)
    expect(lease.pending()).toBeNull()
    sessions.answer = null
    await pass(600)
    expect(confirmed).toHaveLength(1)
    await pass(10_000)
    expect(rejected).toEqual([])
  })

  test('is not queried again when another read has succeeded', async () => {
    const signedIn = await auth.signIn()
    await subscribeTo(signedIn)
    sessions.answer = isDown
    await pass(2_050)
    sessions.answer = null
    feed.publish(signedIn)
    await pass(1)
    auth.lookups.reset()
    await pass(600)
    expect(auth.lookups.count).toBe(0)
  })

  test.each([
    { silence: 'rejects', answer: isDown },
    { silence: 'hangs', answer: () => new Promise<never>(() => {}) },
  ])('and $silence until the lease is over ends the stream with SESSIONS_UNAVAILABLE', async ({ answer }) => {
    const { lease, rejected } = await subscribeTo(await auth.signIn())
    sessions.answer = answer
    await pass(LEASE_MS - 10)
    expect(rejected).toEqual([])
    expect(lease.pending()).toBeNull()
    await pass(700)
    expect(rejected).toEqual(['SESSIONS_UNAVAILABLE'])
  })

  test('is not queried again once the last subscriber has left, and no timer waits for it', async () => {
    const { lease } = await subscribeTo(await auth.signIn())
    sessions.answer = isDown
    await pass(2_050)
    const timers = vi.getTimerCount()
    lease.end()
    expect(vi.getTimerCount()).toBe(timers - 1)
    sessions.answer = null
    auth.lookups.reset()
    await pass(LEASE_MS)
    expect(auth.lookups.count).toBe(0)
  })

  test('ends the stream at once after an announced revocation', async () => {
    const signedIn = await auth.signIn()
    const { rejected } = await subscribeTo(signedIn)
    sessions.answer = isDown
    feed.publish(signedIn)
    await pass(1)
    expect(rejected).toEqual(['SESSIONS_UNAVAILABLE'])
  })

  test('ends the stream if the lease is over at the moment of an emission', async () => {
    const { lease, rejected } = await subscribeTo(await auth.signIn())
    sessions.answer = isDown
    stopFor(10_000)
    await lease.pending()
    expect(rejected).toEqual(['SESSIONS_UNAVAILABLE'])
    expect(lease.pending()).toBeNull()
  })

  test('may take longer than a lease to respond, if no stream waits', async () => {
    const signedIn = await auth.signIn()
    const config = { ...auth.config, lookupTimeoutMs: 20_000 }
    const { confirmed, rejected } = await subscribeTo(signedIn, { config, emits: false })
    const answer = holdAnswers()
    feed.publish(signedIn)
    await pass(LEASE_MS + 1_000)
    answer()
    await pass(1)
    expect(rejected).toEqual([])
    expect(confirmed).toHaveLength(1)
  })

  test('passes its result to an idle socket later', async () => {
    const signedIn = await auth.signIn()
    const { rejected } = await subscribeTo(signedIn, { emits: false })
    sessions.answer = isDown
    await auth.ban(signedIn)
    await pass(20_000)
    expect(new Set(rejected)).toEqual(new Set(['SESSIONS_UNAVAILABLE']))
    sessions.answer = null
    await pass(600)
    expect(rejected.at(-1)).toBe('ACCOUNT_BANNED')
    auth.lookups.reset()
    await pass(20_000)
    expect(auth.lookups.count).toBe(0)
  })
})

describe('an event', () => {
  test('needs a read that starts after it', async () => {
    const signedIn = await auth.signIn()
    const { lease, rejected } = await subscribeTo(signedIn)
    const answer = holdAnswers()
    await pass(2_050)
    await deleteRow(signedIn)
    feed.publish(signedIn)
    // The renewal, which found the session.
    answer()
    await pass(1)
    expect(rejected).toEqual([])
    expect(lease.pending()).not.toBeNull()
    answer()
    await lease.pending()
    expect(rejected).toEqual(['SESSION_NOT_FOUND'])
  })

  function measured() {
    const record = vi.fn<(...measurement: unknown[]) => void>()
    const telemetry = { record, count() {}, open() {} } as unknown as NonNullable<AuthConfig['telemetry']>
    const quiet = { ...telemetry, trace: (_operation: unknown, work: () => unknown) => work() }
    return {
      record,
      config: { ...auth.config, telemetry: { ...quiet, background: quiet } as typeof telemetry },
    }
  }

  test('of an idle socket measures no age of a lease, which only streams have', async () => {
    const { record, config } = measured()
    const signedIn = await auth.signIn()
    await subscribeTo(signedIn, { config, emits: false })
    feed.publish(signedIn)
    await pass(1)
    expect(auth.lookups.count).toBe(1)
    expect(record.mock.calls.filter(([name]) => name === 'leaseAge')).toEqual([])
  })

  test('has a delay that ends with the read that rejects the session, not with one that began before', async () => {
    const { record, config } = measured()
    const signedIn = await auth.signIn()
    await subscribeTo(signedIn, { config })
    const answer = holdAnswers()
    await pass(2_050)
    await deleteRow(signedIn)
    feed.publish(signedIn)
    await pass(500)
    answer()
    await pass(500)
    answer()
    await pass(1)
    expect(record.mock.calls.filter(([name]) => name === 'revocationDelay')).toEqual([
      ['revocationDelay', expect.closeTo(1, 1), {}],
    ])
    // The renewal was sent after two seconds, and had its result half a second later.
    expect(record.mock.calls.filter(([name]) => name === 'leaseAge')).toEqual([
      ['leaseAge', expect.closeTo(2.5, 0), {}],
    ])
  })

  test('has a result that an older one, which comes later, does not replace', async () => {
    const signedIn = await auth.signIn()
    const { lease } = await subscribeTo(signedIn)
    const answers: (() => void)[] = []
    sessions.answer = async (find) => {
      const found = await find()
      await new Promise<void>((resolve) => answers.push(resolve))
      return found
    }
    for (let read = 0; read < 2; read++) {
      await pass(900)
      feed.publish(signedIn)
    }
    await until(() => answers.length === 2)
    for (const answer of answers.reverse()) {
      answer()
      await pass(1)
    }
    sessions.answer = null
    stopFor(LEASE_MS - 500)
    expect(lease.pending()).toBeNull()
  })

  test('is handled by the next read, so a hundred events cost one', async () => {
    const others = await Promise.all(Array.from({ length: MAX_READS_PER_TURN }, () => auth.signIn()))
    for (const other of others) await subscribeTo(other)
    const { confirmed } = await subscribeTo(await auth.signIn())
    for (let event = 0; event < 100; event++) feed.publish({ sessionId: null, userId: null })
    await pass(300)
    // Those of the first turn were in flight together, and each session is read again for later events.
    expect(confirmed).toHaveLength(1)
  })

  test('for all sessions is handled in turns of the event loop, and no session emits before its read', async () => {
    const signedIn = await Promise.all(Array.from({ length: MAX_READS_PER_TURN + 1 }, () => auth.signIn()))
    const subscribed: Subscribed[] = []
    for (const session of signedIn) subscribed.push(await subscribeTo(session))
    feed.publish({ sessionId: null, userId: null })
    expect(auth.lookups.count).toBe(MAX_READS_PER_TURN)
    for (const { lease } of subscribed) expect(lease.pending()).not.toBeNull()
    await Promise.all(subscribed.map(({ lease }) => lease.pending()))
    expect(auth.lookups.count).toBe(MAX_READS_PER_TURN + 1)
    for (const { lease } of subscribed) expect(lease.pending()).toBeNull()
  })

  test('before the start of the stream is noticed', async () => {
    const signedIn = await auth.signIn()
    const read = await readOf(signedIn)
    await auth.revoke(signedIn)
    const { lease, rejected } = subscribe(read)
    expect(lease.pending()).not.toBeNull()
    await pass(1)
    expect(rejected).toEqual(['SESSION_NOT_FOUND'])
  })
})

describe("a session's expiry", () => {
  /** Advances both clocks, as in a running process. */
  async function passBoth(ms: number): Promise<void> {
    auth.clock.advance(ms / 1_000)
    await pass(ms)
  }

  test('sets no timer while renewals come in time, or without streams', async () => {
    const [far, near] = [await auth.signIn(), await auth.signIn()]
    await setExpiry(near, 1_000)
    const before = vi.getTimerCount()
    const added = () => vi.getTimerCount() - before
    await subscribeTo(far)
    // That of the renewals.
    expect(added()).toBe(1)
    const idle = await subscribeTo(near, { emits: false })
    expect(added()).toBe(1)
    const stream = await subscribeTo(near)
    expect(added()).toBe(2)
    stream.lease.end()
    expect(added()).toBe(1)
    await passBoth(1_500)
    expect([auth.lookups.count, idle.rejected]).toEqual([0, []])
  })

  test('is noticed at that moment by a stream that emits before its timer', async () => {
    const signedIn = await auth.signIn()
    await setExpiry(signedIn, 1_000)
    const { lease, rejected } = await subscribeTo(signedIn)
    auth.clock.advance(0.999)
    expect(lease.pending()).toBeNull()
    auth.clock.advance(0.001)
    await lease.pending()
    expect(rejected).toEqual(['SESSION_EXPIRED'])
  })

  test.each([300, 1_999, 4_999, 7_350])('after %i ms is noticed at that exact moment', async (life) => {
    const signedIn = await auth.signIn()
    await setExpiry(signedIn, life)
    const { rejected } = await subscribeTo(signedIn)
    for (let ms = 50; ms < life; ms += 50) await passBoth(50)
    await passBoth((life - 1) % 50)
    expect(rejected).toEqual([])
    await passBoth(1)
    expect(rejected).toEqual(['SESSION_EXPIRED'])
  })

  test('uses the renewed session', async () => {
    const signedIn = await auth.signIn()
    await setExpiry(signedIn, 1_000)
    const { lease, rejected } = await subscribeTo(signedIn)
    await setExpiry(signedIn, 3_000)
    await passBoth(1_000)
    expect(rejected).toEqual([])
    expect(lease.pending()).toBeNull()
    expect(auth.lookups.count).toBe(1)
    await passBoth(1_999)
    expect(rejected).toEqual([])
    await passBoth(1)
    expect(rejected).toEqual(['SESSION_EXPIRED'])
  })
})

test('a call with two streams subscribes once, and leaves no timer behind', async () => {
  const read = await readOf(await auth.signIn())
  const call = { outer: {}, config: auth.config, path: 'ticks', callers: [] }
  const lease = new CallLease(read, { ...call, isResumable: false, isOver: false })
  const streams = [lease.openStream(), lease.openStream()]
  for (const stream of streams) stream.end()
  expect(feed.listeners).toBe(0)
  await pass(10_000)
  expect(vi.getTimerCount()).toBe(0)
})

describe('a change of the keys', () => {
  /** Creates a configuration with changeable key sets, which counts its listeners. */
  function withKeys() {
    const listeners: (() => void)[] = []
    let status: 'known' | 'revoked' = 'known'
    const issuers = auth.config.issuers.map((issuer) => ({
      ...issuer,
      jwks: {
        ...issuer.jwks,
        status: () => status,
        subscribe(listener: () => void) {
          listeners.push(listener)
          return () => void listeners.splice(listeners.indexOf(listener), 1)
        },
      },
    }))
    const [own, ...others] = issuers
    if (own === undefined) throw new TypeError('There is no issuer')
    return {
      config: { ...auth.config, issuers: [own, ...others] } satisfies AuthConfig,
      listeners,
      change(to: 'known' | 'revoked') {
        status = to
        for (const listener of [...listeners]) listener()
      },
    }
  }

  test('ends subscriptions that rely on a removed key, with one listener for all sessions', async () => {
    const { config, listeners, change } = withKeys()
    const subscribed = [
      await subscribeTo(await auth.signIn(), { config }),
      await subscribeTo(await auth.signIn(), { config }),
    ]
    expect(listeners.length).toBe(1)
    change('revoked')
    for (const { lease } of subscribed) expect(lease.pending()).not.toBeNull()
    await pass(1)
    expect(subscribed.map(({ rejected }) => rejected)).toEqual([['TOKEN_INVALID'], ['TOKEN_INVALID']])
    expect(listeners.length).toBe(0)
    await subscribeTo(await auth.signIn(), { config })
    expect(listeners.length).toBe(1)
  })

  test('is watched until the last stream of all sessions ends', async () => {
    const { config, listeners } = withKeys()
    const [first, second] = [
      await subscribeTo(await auth.signIn(), { config }),
      await subscribeTo(await auth.signIn(), { config }),
    ]
    first.lease.end()
    expect(listeners.length).toBe(1)
    second.lease.end()
    expect(listeners.length).toBe(0)
  })

  test('between the read and the stream is noticed', async () => {
    const read = await readOf(await auth.signIn())
    const { lease } = subscribe({ ...read, keysVersion: read.keysVersion - 1 })
    expect(lease.pending()).not.toBeNull()
    await lease.pending()
  })

  test('costs nothing for a socket without streams', async () => {
    const { config, change } = withKeys()
    await subscribeTo(await auth.signIn(), { config, emits: false })
    change('known')
    await pass(1)
    expect(auth.lookups.count).toBe(0)
  })
})

test("an invalid result of an app's store ends the stream like a failure", async () => {
  const signedIn = await auth.signIn()
  const { rejected } = await subscribeTo(signedIn)
  sessions.answer = () => {
    throw new AuthError('SESSIONS_UNAVAILABLE')
  }
  feed.publish(signedIn)
  await pass(1)
  expect(rejected).toEqual(['SESSIONS_UNAVAILABLE'])
})
