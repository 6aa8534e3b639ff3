import { type AuthAdapter, AuthError, type Session, type SessionUser, validateSession } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { reasonOf } from '../support/reason-of.ts'

const now = new Date('2026-11-21T10:00:00.000Z')
const at = (ms: number) => new Date(now.getTime() + ms)
const key = { sessionId: 's1', userId: 'ada' }

const user: SessionUser = {
  id: 'ada',
  name: 'Ada',
  email: 'ada@example.com',
  role: 'user',
  banned: false,
  banReason: null,
  banExpires: null,
}
const valid: Session = {
  id: 's1',
  userId: 'ada',
  expiresAt: at(1000),
  lastAuthenticatedAt: at(-1000).toISOString(),
  user,
}

const answering = (findSession: () => unknown): AuthAdapter => ({
  findSession: findSession as AuthAdapter['findSession'],
})
const validate = (answer: unknown) =>
  validateSession(
    key,
    answering(async () => answer),
    { now: () => now, lookupTimeoutMs: 1000 },
  )

test('a session that counts is handed on as it is', async () => {
  expect(await validate(valid)).toBe(valid)
})

test('the adapter is asked for the session and the user together, every time', async () => {
  const asked: unknown[] = []
  const adapter: AuthAdapter = {
    async findSession(sessionKey) {
      asked.push(sessionKey)
      return valid
    },
  }
  await validateSession(key, adapter, { now: () => now })
  await validateSession(key, adapter, { now: () => now })
  expect(asked).toEqual([key, key])
})

test('an adapter may answer at once, without a promise', async () => {
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
  const banned = { ...user, banned: true }

  test.each([
    ['deleted', null, 'SESSION_NOT_FOUND'],
    ['valid for a millisecond', { ...valid, expiresAt: at(1) }, 'accepted'],
    ['expiring now', { ...valid, expiresAt: at(0) }, 'SESSION_EXPIRED'],
    ['expired a millisecond ago', { ...valid, expiresAt: at(-1) }, 'SESSION_EXPIRED'],
    ['expired in 1970', { ...valid, expiresAt: new Date(0) }, 'SESSION_EXPIRED'],
    ['of a date that cannot be read', { ...valid, expiresAt: new Date('soon') }, 'SESSION_EXPIRED'],
    ['banned', { ...valid, user: banned }, 'ACCOUNT_BANNED'],
    ['banned for a millisecond more', { ...valid, user: { ...banned, banExpires: at(1) } }, 'ACCOUNT_BANNED'],
    ['banned until now', { ...valid, user: { ...banned, banExpires: at(0) } }, 'accepted'],
    ['banned until a while ago', { ...valid, user: { ...banned, banExpires: at(-1) } }, 'accepted'],
    [
      'banned until a date that cannot be read',
      { ...valid, user: { ...banned, banExpires: new Date('soon') } },
      'ACCOUNT_BANNED',
    ],
    ['with the end of a ban that is none', { ...valid, user: { ...user, banExpires: at(1) } }, 'accepted'],
    ['expired and banned', { ...valid, expiresAt: at(-1), user: banned }, 'SESSION_EXPIRED'],
  ])('%s', async (_name, session, reason) => {
    expect(await reasonOf(validate(session))).toBe(reason)
  })
})

describe('an answer that is not plainly the session is 503, never a way in and never a sign-out', () => {
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
    ['banned as a number', { ...valid, user: { ...user, banned: 0 } }],
    ['banned as text', { ...valid, user: { ...user, banned: 'false' } }],
    ['banned null', { ...valid, user: { ...user, banned: null } }],
    ['banned missing', { ...valid, user: { ...user, banned: undefined } }],
    ['banExpires as text', { ...valid, user: { ...user, banned: true, banExpires: '1970-01-01' } }],
    ['banExpires as a number', { ...valid, user: { ...user, banned: true, banExpires: 0 } }],
    ['banExpires missing', { ...valid, user: { ...user, banned: true, banExpires: undefined } }],
    ['a role that is no text', { ...valid, user: { ...user, role: ['admin'] } }],
    ['a role missing', { ...valid, user: { ...user, role: undefined } }],
  ])('%s', async (_name, answer) => {
    await expect(validate(answer)).rejects.toMatchObject({
      reason: 'SESSIONS_UNAVAILABLE',
      status: 503,
      retryAfterSeconds: 1,
    })
  })
})

describe('an adapter that fails', () => {
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
    ['never answers', () => new Promise(() => {})],
    ['answers nonsense at once', () => 's1'],
  ])('and %s is 503', async (_name, findSession) => {
    const call = validateSession(key, answering(findSession), { now: () => now, lookupTimeoutMs: 1 })
    await expect(call).rejects.toMatchObject({ reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 1 })
  })

  test('is kept as the cause, and not in the message', async () => {
    const call = validateSession(
      key,
      answering(() => Promise.reject(failure)),
    )
    await expect(call).rejects.toMatchObject({
      cause: failure,
      message: 'Sessions cannot be checked right now',
    })
  })

  test.each(['SESSION_NOT_FOUND', 'KEYS_UNAVAILABLE', 'ACCOUNT_BANNED'] as const)(
    'with an AuthError of its own passes it on: %s',
    async (reason) => {
      const refusal = new AuthError(reason, { retryAfterSeconds: 9 })
      await expect(
        validateSession(
          key,
          answering(() => Promise.reject(refusal)),
        ),
      ).rejects.toBe(refusal)
    },
  )
})

test('the clock is read after the answer, so that a slow lookup lets no expired session through', async () => {
  let time = at(0)
  const slow = answering(async () => {
    time = at(5000)
    return valid
  })
  expect(await reasonOf(validateSession(key, slow, { now: () => time }))).toBe('SESSION_EXPIRED')
})

test('without options the clock is the real one', async () => {
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
