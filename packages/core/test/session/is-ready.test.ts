import { type AuthConfig, AuthError, isReady, type SessionReader } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'

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
