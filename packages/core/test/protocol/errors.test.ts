import { AuthError, ConfigurationError, isAuthError, REASONS, type Reason } from '@sallyport/core'
import { isUnavailable } from '@sallyport/core/internal/server'
import { describe, expect, test } from 'vitest'

/** The table of spec section 7. */
const table: [Reason, number, string, number | null][] = [
  ['TOKEN_MISSING', 401, 'UNAUTHORIZED', null],
  ['TOKEN_EXPIRED', 401, 'UNAUTHORIZED', null],
  ['TOKEN_INVALID', 401, 'UNAUTHORIZED', null],
  ['SESSION_NOT_FOUND', 401, 'UNAUTHORIZED', null],
  ['SESSION_EXPIRED', 401, 'UNAUTHORIZED', null],
  ['COOKIE_CONFLICT', 401, 'UNAUTHORIZED', null],
  ['ACCOUNT_BANNED', 403, 'FORBIDDEN', null],
  ['ROLE_REQUIRED', 403, 'FORBIDDEN', null],
  ['SESSION_NOT_FRESH', 403, 'FORBIDDEN', null],
  ['FACTOR_REQUIRED', 403, 'FORBIDDEN', null],
  ['ORIGIN_REJECTED', 403, 'FORBIDDEN', null],
  ['SECRET_SUPERSEDED', 409, 'CONFLICT', null],
  ['RATE_LIMITED', 429, 'TOO_MANY_REQUESTS', 1],
  ['SESSIONS_UNAVAILABLE', 503, 'SERVICE_UNAVAILABLE', 1],
  ['KEYS_UNAVAILABLE', 503, 'SERVICE_UNAVAILABLE', 1],
]

test('the list of reasons is complete', () => {
  expect(Object.keys(REASONS)).toEqual(table.map(([reason]) => reason))
})

test.each(table)('%s is %i %s, and may be retried after %j seconds', (reason, status, code, retryAfter) => {
  const error = new AuthError(reason)
  expect(error).toMatchObject({ name: 'AuthError', reason, status, retryAfterSeconds: retryAfter })
  expect(error.message).toBe(REASONS[reason].message)
  expect(REASONS[reason].code).toBe(code)
  expect(isUnavailable(error)).toBe(status === 503)
})

test('a banned user reads "Account banned" (spec section 7)', () => {
  expect(new AuthError('ACCOUNT_BANNED').message).toBe('Account banned')
})

test('keeps the cause, and shows it in neither message nor JSON', () => {
  const cause = new Error('SELECT secret FROM session')
  const error = new AuthError('SESSIONS_UNAVAILABLE', { cause, retryAfterSeconds: 7 })
  expect(error.cause).toBe(cause)
  expect(error.retryAfterSeconds).toBe(7)
  expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('SELECT')
})

test('has no cause property without a cause', () => {
  expect('cause' in new AuthError('TOKEN_MISSING')).toBe(false)
})

describe('an AuthError is recognized by its brand', () => {
  test('also from another copy of this package', () => {
    const foreign = { [Symbol.for('sallyport.AuthError')]: true, reason: 'TOKEN_MISSING', status: 401 }
    expect(isAuthError(foreign)).toBe(true)
  })

  test.each([
    ['an error', new Error('TOKEN_MISSING')],
    ['a ConfigurationError', new ConfigurationError('x')],
    ['an object that looks like one', { name: 'AuthError', reason: 'TOKEN_MISSING', status: 503 }],
    ['null', null],
    ['undefined', undefined],
    ['a string', 'TOKEN_MISSING'],
  ])("%s isn't one, and doesn't say whether to retry", (_name, value) => {
    expect(isAuthError(value)).toBe(false)
    expect(isUnavailable(value)).toBe(false)
  })
})
