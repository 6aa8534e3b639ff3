import { type AuthConfig, AuthError, ConfigurationError, isReady, type SessionReader } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test, vi } from 'vitest'
import { requireReady } from '../../src/session/is-ready.ts'

const auth = await createTestAuth({ session: { lookupTimeoutMs: 1 } })
afterAll(() => auth.close())

const [own] = auth.config.issuers
const ready = () => Promise.reject(new AuthError('KEYS_UNAVAILABLE'))
const noKeys: AuthConfig = { ...auth.config, issuers: [{ ...own, jwks: { ...own.jwks, ready } }] }
const failing: SessionReader = { findSession: () => Promise.reject(new Error('no database')) }
const hanging: SessionReader = { findSession: () => new Promise(() => {}) }

test.each([
  ['keys and database are available', auth.config, auth.database.sessions, true],
  ['the keys are unavailable', noKeys, auth.database.sessions, false],
  ['the database fails', auth.config, failing, false],
  ["the database doesn't respond", auth.config, hanging, false],
])('%s: ready is %4$s', async (_name, config, sessions, expected) => {
  expect(await isReady(config, sessions)).toBe(expected)
})

test('the lookup is for a session that does not exist', async () => {
  const findSession = vi.fn(() => null)
  expect(await isReady(auth.config, { findSession })).toBe(true)
  const probe = { sessionId: 'health-check', userId: 'health-check' }
  expect(findSession.mock.calls).toEqual([[probe]])
})

const fail = (error: unknown) => () => Promise.reject(error)
const failed = new Error('no database')
const invalid = new ConfigurationError('JWKS is not set', { cause: new Error('no variable') })
const unavailable = (cause?: unknown) => new AuthError('KEYS_UNAVAILABLE', { cause })

test.each([
  ['an error', failed, 'no database'],
  ['a cause of an error', new Error('select 1', { cause: failed }), 'no database'],
  ['an invalid configuration', invalid, 'JWKS is not set'],
  ['a rejection', new AuthError('KEYS_UNAVAILABLE'), new AuthError('KEYS_UNAVAILABLE').message],
  ['a rejection with a cause', unavailable(failed), 'KEYS_UNAVAILABLE: no database'],
  [
    'a rejection with a deeper cause',
    unavailable(new Error('x', { cause: failed })),
    'KEYS_UNAVAILABLE: no database',
  ],
  ['a rejection because of an invalid configuration', unavailable(invalid), 'JWKS is not set'],
  ['an error without a message', Object.assign(new Error(''), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  ['an error with a code', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'refused'],
  ['a text', 'broken', 'broken'],
])('a check that fails with %s', async (_name, error, message) => {
  await expect(requireReady([() => 1, fail(error)])).rejects.toMatchObject({ message, cause: error })
})

test('every problem is listed once, with its errors', async () => {
  const errors = [failed, invalid, new Error('no database')]
  const [first, second, third] = errors
  const ready = requireReady([fail(first), () => undefined, fail(second), fail(third)])
  await expect(ready).rejects.toMatchObject({ message: 'no database\nJWKS is not set', cause: { errors } })
  await expect(ready).rejects.toBeInstanceOf(ConfigurationError)
})

test('checks that pass, or wait, need nothing', async () => {
  expect(await requireReady([() => 1, async () => {}])).toBeUndefined()
  expect(await requireReady([])).toBeUndefined()
})
