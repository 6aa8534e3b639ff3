import {
  AuthError,
  type ProvedSession,
  type SessionReader,
  type SessionUser,
  type StoredSession,
  validateSession,
} from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import type { StoreMeter } from '../../src/events/telemetry.ts'
import { GRACE_SECONDS } from '../../src/protocol.ts'
import { reasonOf } from '../support/reason-of.ts'
import { recordTelemetry } from '../support/record-telemetry.ts'

const now = new Date('2026-11-21T10:00:00.000Z')
const at = (ms: number) => new Date(now.getTime() + ms)
const key: ProvedSession = { sessionId: 's1', userId: 'ada', version: 5, issuer: 'https://app.example.com' }

const user: SessionUser = {
  id: 'ada',
  name: 'Ada',
  email: 'ada@example.com',
  role: 'user',
}
const valid: StoredSession = {
  id: 's1',
  userId: 'ada',
  expiresAt: at(1000),
  lastAuthenticatedAt: at(-1000).toISOString(),
  version: 5,
  rotatedAt: null,
  issuer: null,
  amr: null,
  acr: null,
  user,
  ban: null,
}

const answering = (findSession: () => unknown): SessionReader => ({
  findSession: findSession as SessionReader['findSession'],
})
const validate = (answer: unknown, identity = key) =>
  validateSession(
    identity,
    answering(async () => answer),
    { now: () => now, lookupTimeoutMs: 1000 },
  )

test('returns a valid session unchanged', async () => {
  expect(await validate(valid)).toBe(valid)
})

test('the store is queried for the session and the user together, every time', async () => {
  const asked: unknown[] = []
  const sessions: SessionReader = {
    async findSession(sessionKey) {
      asked.push(sessionKey)
      return valid
    },
  }
  await validateSession(key, sessions, { now: () => now })
  await validateSession(key, sessions, { now: () => now })
  expect(asked).toEqual([key, key])
})

test('a store may return synchronously', async () => {
  const options = { now: () => now }
  expect(
    await validateSession(
      key,
      answering(() => valid),
      options,
    ),
  ).toBe(valid)
  expect(
    await reasonOf(
      validateSession(
        key,
        answering(() => null),
        options,
      ),
    ),
  ).toBe('SESSION_NOT_FOUND')
})

describe('every state of a session', () => {
  const banned = (until: Date | null) => ({ ...valid, ban: { until } })

  test.each([
    ['deleted', null, 'SESSION_NOT_FOUND'],
    ['valid for another millisecond', { ...valid, expiresAt: at(1) }, 'accepted'],
    ['expiring now', { ...valid, expiresAt: at(0) }, 'SESSION_EXPIRED'],
    ['expired a millisecond ago', { ...valid, expiresAt: at(-1) }, 'SESSION_EXPIRED'],
    ['expired in 1970', { ...valid, expiresAt: new Date(0) }, 'SESSION_EXPIRED'],
    ['of an unreadable date', { ...valid, expiresAt: new Date('soon') }, 'SESSION_EXPIRED'],
    ['banned', banned(null), 'ACCOUNT_BANNED'],
    ['banned for another millisecond', banned(at(1)), 'ACCOUNT_BANNED'],
    ['banned until now', banned(at(0)), 'accepted'],
    ['banned until an earlier time', banned(at(-1)), 'accepted'],
    ['banned until an unreadable date', banned(new Date('soon')), 'ACCOUNT_BANNED'],
    ['expired and banned', { ...banned(null), expiresAt: at(-1) }, 'SESSION_EXPIRED'],
  ])('%s', async (_name, session, reason) => {
    expect(await reasonOf(validate(session))).toBe(reason)
  })
})

describe('the version of a token', () => {
  const rotated = (seconds: number) => ({ ...valid, rotatedAt: at(-seconds * 1000).toISOString() })

  test.each<[string, StoredSession, number | null, string]>([
    ["equal to the row's", valid, 5, 'accepted'],
    ['an older one', valid, 4, 'TOKEN_INVALID'],
    ['the first one', valid, 1, 'TOKEN_INVALID'],
    ['a newer one', valid, 6, 'TOKEN_INVALID'],
    ['any, for a row without a version', { ...valid, version: null }, 1, 'accepted'],
    ['that of the row, just after a rotation', rotated(0), 5, 'accepted'],
    ['the previous one, just after a rotation', rotated(0), 4, 'accepted'],
    ['the previous one, at the end of the grace period', rotated(GRACE_SECONDS), 4, 'accepted'],
    ['the previous one, a millisecond later', rotated(GRACE_SECONDS + 0.001), 4, 'TOKEN_INVALID'],
    ['the one before the previous one', rotated(0), 3, 'TOKEN_INVALID'],
    ['the next one, just after a rotation', rotated(0), 6, 'TOKEN_INVALID'],
    [
      'the previous one, after the user proved who they are',
      { ...valid, rotatedAt: null },
      4,
      'TOKEN_INVALID',
    ],
    ['the previous one, rotated at an unreadable date', { ...valid, rotatedAt: 'soon' }, 4, 'TOKEN_INVALID'],
  ])('%s', async (_name, session, version, reason) => {
    expect(await reasonOf(validate(session, { ...key, version }))).toBe(reason)
  })
})

describe('the issuer of a token', () => {
  const ours = key
  const foreign: ProvedSession = { ...key, version: null, issuer: 'https://id.example.com' }
  const another: ProvedSession = { ...foreign, issuer: 'https://other.example.com' }
  const ownedBy = (issuer: string | null) => ({ ...valid, issuer })

  test.each<[string, ProvedSession, StoredSession, string]>([
    ["the server's token, the server's session", ours, ownedBy(null), 'accepted'],
    [
      "the server's token, a session of another issuer",
      ours,
      ownedBy('https://id.example.com'),
      'TOKEN_INVALID',
    ],
    [
      "the server's token, a mapped session that names the server's issuer",
      ours,
      ownedBy(key.issuer),
      'accepted',
    ],
    ["a foreign token, the server's session", foreign, ownedBy(null), 'TOKEN_INVALID'],
    ['a foreign token, a session of its issuer', foreign, ownedBy('https://id.example.com'), 'accepted'],
    [
      'a foreign token, a session of another one',
      another,
      ownedBy('https://id.example.com'),
      'TOKEN_INVALID',
    ],
    [
      'a foreign token, a session of an issuer with a slash',
      foreign,
      ownedBy('https://id.example.com/'),
      'TOKEN_INVALID',
    ],
  ])('%s', async (_name, identity, session, reason) => {
    expect(await reasonOf(validate(session, identity))).toBe(reason)
  })

  test("a foreign token has no version, so the version of its session isn't compared", async () => {
    expect(await reasonOf(validate({ ...ownedBy(foreign.issuer), version: 9 }, foreign))).toBe('accepted')
  })
})

describe("reports a token that doesn't match the session before the state of the session", () => {
  test.each([
    ['an older version', { ...key, version: 4 }],
    ['another issuer', { ...key, version: null }],
  ])('%s', async (_name, identity) => {
    const banned = { ...valid, ban: { until: null } }
    const gone = { ...banned, expiresAt: at(-1) }
    expect(await reasonOf(validate({ ...valid, expiresAt: at(-1) }, identity))).toBe('TOKEN_INVALID')
    expect(await reasonOf(validate(banned, identity))).toBe('TOKEN_INVALID')
    expect(await reasonOf(validate(gone, identity))).toBe('TOKEN_INVALID')
    expect(await reasonOf(validate(null, identity))).toBe('SESSION_NOT_FOUND')
  })
})

test('Step 2 returns a session without a ban that has ended', async () => {
  expect(await validate({ ...valid, ban: { until: at(0) } })).toEqual(valid)
})

describe('a malformed result is 503, never accepted and never a sign-out', () => {
  const withoutUser = Object.fromEntries(Object.entries(valid).filter(([name]) => name !== 'user'))

  test.each([
    ['undefined', undefined],
    ['a string', 's1'],
    ['a number', 1],
    ['true', true],
    ['an empty object', {}],
    ['a list of the session', [valid]],
    ['another session', { ...valid, id: 's2' }],
    ['a session without an id', { ...valid, id: undefined }],
    ["another user's session", { ...valid, userId: 'eve' }],
    ['a session with another user', { ...valid, user: { ...user, id: 'eve' } }],
    ["another user's session with that user", { ...valid, userId: 'eve', user: { ...user, id: 'eve' } }],
    ['a session without a user', withoutUser],
    ['a session with user null', { ...valid, user: null }],
    ['expiresAt as text', { ...valid, expiresAt: '2099-01-01T00:00:00.000Z' }],
    ['expiresAt as a number', { ...valid, expiresAt: 8.64e15 }],
    ['expiresAt null', { ...valid, expiresAt: null }],
    ['expiresAt missing', { ...valid, expiresAt: undefined }],
    ['a ban as a boolean', { ...valid, ban: false }],
    ['a ban as text', { ...valid, ban: 'none' }],
    ['a ban missing', { ...valid, ban: undefined }],
    ['the end of a ban as text', { ...valid, ban: { until: '1970-01-01' } }],
    ['the end of a ban as a number', { ...valid, ban: { until: 0 } }],
    ['the end of a ban missing', { ...valid, ban: {} }],
    ["a role that isn't text", { ...valid, user: { ...user, role: ['admin'] } }],
    ['a role missing', { ...valid, user: { ...user, role: undefined } }],
    ['a version missing', { ...valid, version: undefined }],
    ['a version as text', { ...valid, version: '5' }],
    ['a version with a fraction', { ...valid, version: 4.5 }],
    ['a version that is not a number', { ...valid, version: Number.NaN }],
    ['an issuer missing', { ...valid, issuer: undefined }],
    ['an issuer that is not text', { ...valid, issuer: ['https://id.example.com'] }],
  ])('%s', async (_name, answer) => {
    await expect(validate(answer)).rejects.toMatchObject({
      reason: 'SESSIONS_UNAVAILABLE',
      status: 503,
      retryAfterSeconds: 1,
    })
  })
})

describe('a store that fails', () => {
  const failure = new Error('connection refused')

  test.each([
    ['rejects', () => Promise.reject(failure)],
    [
      'throws',
      () => {
        throw failure
      },
    ],
    ['rejects with no error', () => Promise.reject('connection refused')],
    ['rejects with nothing', () => Promise.reject()],
    ['never responds', () => new Promise(() => {})],
    ['returns an invalid value at once', () => 's1'],
  ])('and %s is 503', async (_name, findSession) => {
    const call = validateSession(key, answering(findSession), { now: () => now, lookupTimeoutMs: 1 })
    await expect(call).rejects.toMatchObject({ reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 1 })
  })

  test('is kept as the cause, and is not in the message', async () => {
    const call = validateSession(
      key,
      answering(() => Promise.reject(failure)),
    )
    await expect(call).rejects.toMatchObject({
      cause: failure,
      message: 'Sessions cannot be checked right now. Try again later.',
    })
  })

  test.each(['SESSION_NOT_FOUND', 'KEYS_UNAVAILABLE', 'ACCOUNT_BANNED'] as const)(
    'with its own AuthError passes it on: %s',
    async (reason) => {
      const rejection = new AuthError(reason, { retryAfterSeconds: 9 })
      await expect(
        validateSession(
          key,
          answering(() => Promise.reject(rejection)),
        ),
      ).rejects.toBe(rejection)
    },
  )
})

describe('with telemetry, the lookup is measured in seconds', () => {
  const failure = new Error('connection refused')
  const meterOf = (system: StoreMeter['system']): StoreMeter => ({ system, telemetry: undefined })

  test.each<[string, () => unknown, StoreMeter | undefined, Error | undefined]>([
    ['of a session', async () => valid, meterOf('sqlite'), undefined],
    ['of no session', () => null, meterOf('postgresql'), undefined],
    ['that fails, with its error', () => Promise.reject(failure), meterOf('sqlite'), failure],
    ['of a store without measurements', () => valid, undefined, undefined],
  ])('%s', async (_name, findSession, meter, error) => {
    const { telemetry, recorded } = recordTelemetry()
    const startedAt = performance.now()
    await reasonOf(validateSession(key, { ...answering(findSession), meter }, { now: () => now, telemetry }))
    const elapsedSeconds = (performance.now() - startedAt) / 1000
    const attributes = { system: meter?.system, error }
    expect(recorded).toEqual([['record', 'lookup', expect.any(Number), attributes]])
    const seconds = Number(recorded[0]?.[2])
    expect(seconds).toBeGreaterThanOrEqual(0)
    expect(seconds).toBeLessThanOrEqual(elapsedSeconds)
    // From now on, the store records its own measurements there.
    expect(meter?.telemetry).toBe(meter && telemetry)
  })

  test('a lookup without telemetry leaves that of the store as it is', async () => {
    const { telemetry, recorded } = recordTelemetry()
    const meter: StoreMeter = { system: 'sqlite', telemetry }
    await validateSession(key, { ...answering(() => valid), meter }, { now: () => now })
    expect([meter.telemetry, recorded]).toEqual([telemetry, []])
  })
})

test('reads the clock after the lookup, so a slow lookup accepts no expired session', async () => {
  let time = at(0)
  const slow = answering(async () => {
    time = at(5000)
    return valid
  })
  expect(await reasonOf(validateSession(key, slow, { now: () => time }))).toBe('SESSION_EXPIRED')
})

test('uses the real clock without options', async () => {
  const fresh = { ...valid, expiresAt: new Date(Date.now() + 60_000) }
  expect(
    await reasonOf(
      validateSession(
        key,
        answering(async () => fresh),
      ),
    ),
  ).toBe('accepted')
  const stale = { ...valid, expiresAt: new Date(Date.now() - 1) }
  expect(
    await reasonOf(
      validateSession(
        key,
        answering(async () => stale),
      ),
    ),
  ).toBe('SESSION_EXPIRED')
})
