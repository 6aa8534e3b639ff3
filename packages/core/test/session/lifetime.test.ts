import { describe, expect, test } from 'vitest'
import { expiryOf, isInGrace, renewalOf, type SessionLifetimes } from '../../src/session/lifetime.ts'

const DAY = 24 * 60 * 60
const HOUR = 60 * 60
const DEFAULTS: SessionLifetimes = {
  expiresInSeconds: 30 * DAY,
  unrememberedExpiresInSeconds: DAY,
  absoluteLifetimeSeconds: Number.POSITIVE_INFINITY,
  idleTimeoutSeconds: Number.POSITIVE_INFINITY,
  renewAfterSeconds: DAY,
}

const createdAt = new Date('2026-11-21T10:00:00.000Z')
/** Returns a time, in seconds after the sign-in. */
const at = (seconds: number) => new Date(createdAt.getTime() + seconds * 1000)

describe('a session that is used now expires', () => {
  test.each<[string, Partial<SessionLifetimes>, boolean, number, number]>([
    ['30 days from now', {}, true, 0, 30 * DAY],
    ['30 days from now, also long after the sign-in', {}, true, 1_000 * DAY, 1_030 * DAY],
    ["a day from now if it isn't remembered", {}, false, 5 * DAY, 6 * DAY],
    ['no later than a remembered one', { expiresInSeconds: HOUR }, false, 0, HOUR],
    ['within its absolute lifetime', { absoluteLifetimeSeconds: 40 * DAY }, true, 5 * DAY, 35 * DAY],
    ['at the end of its absolute lifetime', { absoluteLifetimeSeconds: 40 * DAY }, true, 20 * DAY, 40 * DAY],
    ['no later, however often it is used', { absoluteLifetimeSeconds: 40 * DAY }, true, 40 * DAY, 40 * DAY],
    ['after the idle timeout', { idleTimeoutSeconds: HOUR }, true, 5 * DAY, 5 * DAY + HOUR],
    ['after the idle timeout, remembered or not', { idleTimeoutSeconds: HOUR }, false, 0, HOUR],
    ['before an idle timeout that is longer', { idleTimeoutSeconds: 40 * DAY }, true, 0, 30 * DAY],
    [
      'at the end of its absolute lifetime, idle or not',
      { idleTimeoutSeconds: HOUR, absoluteLifetimeSeconds: 2 * HOUR },
      true,
      1.5 * HOUR,
      2 * HOUR,
    ],
  ])('%s', (_name, lifetimes, remembered, now, expiresAt) => {
    const session = { createdAt, remembered }
    expect(expiryOf(session, { ...DEFAULTS, ...lifetimes }, at(now))).toEqual(at(expiresAt))
  })
})

describe('a session is renewed', () => {
  /** The settings, the expiry, the time of use, and the new expiry, or null if it isn't renewed. */
  type Row = [string, Partial<SessionLifetimes>, number, number, number | null]

  test.each<Row>([
    ['not at once', {}, 30 * DAY, 0, null],
    ['not within renewAfter', {}, 30 * DAY, DAY - 0.001, null],
    ['once renewAfter has passed', {}, 30 * DAY, DAY, 31 * DAY],
    ['long after that too', {}, 30 * DAY, 29 * DAY, 59 * DAY],
    ['not within renewAfter since the last time', {}, 31 * DAY, 2 * DAY - 0.001, null],
    ['once renewAfter has passed since the last time', {}, 31 * DAY, 2 * DAY, 32 * DAY],
    ['after another renewAfter', { renewAfterSeconds: HOUR }, 30 * DAY, HOUR, 30 * DAY + HOUR],
    ['not before another renewAfter', { renewAfterSeconds: 3 * DAY }, 30 * DAY, 3 * DAY - 0.001, null],
    ['halfway at the latest', { expiresInSeconds: HOUR }, HOUR, HOUR / 2, 1.5 * HOUR],
    ['not before that', { expiresInSeconds: HOUR }, HOUR, HOUR / 2 - 0.001, null],
    ['each time with an idle timeout', { idleTimeoutSeconds: HOUR }, HOUR, 0.001, HOUR + 0.001],
    ['but never to the same time', { idleTimeoutSeconds: HOUR }, HOUR, 0, null],
    [
      'at its usual time if the idle timeout is longer',
      { idleTimeoutSeconds: 31 * DAY },
      30 * DAY,
      HOUR,
      null,
    ],
    ['up to its absolute lifetime', { absoluteLifetimeSeconds: 40 * DAY }, 30 * DAY, 20 * DAY, 40 * DAY],
    ['no further', { absoluteLifetimeSeconds: 40 * DAY }, 40 * DAY, 20 * DAY, null],
    [
      'never if the absolute lifetime is shorter',
      { absoluteLifetimeSeconds: 2 * DAY },
      2 * DAY,
      1.5 * DAY,
      null,
    ],
    ['never to an earlier time', { expiresInSeconds: HOUR }, 30 * DAY, 29.5 * DAY, null],
    [
      'idle or not, no further than its absolute lifetime',
      { idleTimeoutSeconds: HOUR, absoluteLifetimeSeconds: 2 * HOUR },
      2 * HOUR,
      1.5 * HOUR,
      null,
    ],
  ])('%s', (_name, lifetimes, expiresAt, now, renewed) => {
    const session = { createdAt, remembered: true, expiresAt: at(expiresAt) }
    expect(renewalOf(session, { ...DEFAULTS, ...lifetimes }, at(now))).toEqual(
      renewed === null ? null : at(renewed),
    )
  })

  test.each<Row>([
    ['not within half a day', {}, DAY, DAY / 2 - 0.001, null],
    ['for a day from then on', {}, DAY, DAY / 2, 1.5 * DAY],
    ['each time with an idle timeout', { idleTimeoutSeconds: HOUR }, HOUR, 60, HOUR + 60],
  ])("that isn't remembered %s", (_name, lifetimes, expiresAt, now, renewed) => {
    const session = { createdAt, remembered: false, expiresAt: at(expiresAt) }
    expect(renewalOf(session, { ...DEFAULTS, ...lifetimes }, at(now))).toEqual(
      renewed === null ? null : at(renewed),
    )
  })
})

test.each([
  ['of this moment', 0, true],
  ['30 seconds ago', 30, true],
  ['a moment longer ago', 30.001, false],
])('the secret before a rotation %s is still valid: %3$s', (_name, seconds, expected) => {
  expect(isInGrace(createdAt, at(seconds))).toBe(expected)
})

test('without a rotation, no earlier secret is valid', () => {
  expect(isInGrace(null, createdAt)).toBe(false)
})
