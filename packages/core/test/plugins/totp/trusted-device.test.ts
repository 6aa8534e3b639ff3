import { randomBytes } from 'node:crypto'
import { createAuth, defineAuth } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { totp } from '@sallyport/core/plugins/totp'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, test } from 'vitest'
import { withOwnTables } from '../../../src/plugins/totp/tables.ts'
import { dumpTables } from '../../support/dump-tables.ts'
import { post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { createTotpAuth } from './browser.ts'

/** Signs a browser in with a code, and asks to trust it. */
async function trustFor(trustedDeviceSeconds: number) {
  const { auth, open, codeOf } = await createTotpAuth({ trustedDeviceSeconds })
  const { email } = await auth.createUser()
  const browser = open()
  await browser.signIn(email)
  const { secret } = (await browser.call('enableTotp')).body
  await browser.call('confirmTotp', { code: codeOf(secret) })
  auth.clock.advance(30)
  const challenge = (await browser.signIn(email)).body.challenge.token
  const completed = { challenge, code: codeOf(secret), trustDevice: true }
  expect((await browser.call('signInTotp', completed)).status).toBe('200')
  return { auth, browser, email, codeOf, signIn: async () => (await browser.signIn(email)).status }
}

describe('trustedDeviceSeconds', () => {
  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e12])('rejects %s', (trustedDeviceSeconds) => {
    expect(() => totp({ issuer: 'Test', trustedDeviceSeconds })).toThrow('totp.trustedDeviceSeconds')
  })

  test('says how long a browser signs in without a code', async () => {
    const { auth, signIn } = await trustFor(60)
    auth.clock.advance(59)
    expect(await signIn()).toBe('200')
    auth.clock.advance(1)
    expect(await signIn()).toBe('403 FACTOR_REQUIRED')
  })

  test('of 0 trusts no browser', async () => {
    const { auth, browser, signIn } = await trustFor(0)
    expect(browser.cookie).not.toContain('trusted')
    expect((await dumpTables(auth)).trustedDevice).toEqual([])
    expect(await signIn()).toBe('403 FACTOR_REQUIRED')
  })

  test('of 0 also ignores browsers that were trusted before', async () => {
    const { auth, browser, signIn, email } = await trustFor(60)
    const { config, definition, database } = auth
    const plugins = [emailPassword(), totp({ issuer: 'Test', trustedDeviceSeconds: 0 })]
    const { signingKeys } = definition
    const encryptionKeys = randomBytes(32).toString('base64')
    const off = await createAuth(defineAuth({ config, signingKeys, encryptionKeys, plugins }), database, {
      pruneEverySeconds: 0,
    })
    expect(await signIn()).toBe('200')
    const request = post('/sign-in/email', { email, password: TEST_PASSWORD }, { cookie: browser.cookie })
    expect(await statusOf(off.handler(request))).toBe('403 FACTOR_REQUIRED')
  })
})

test('a new app trusts no browser that was trusted for a former one, which an operator has removed', async () => {
  const { auth, browser, codeOf, signIn } = await trustFor(60)
  await withOwnTables(auth.db).deleteFrom('totp').execute()
  const { secret } = (await browser.call('enableTotp')).body
  expect((await browser.call('confirmTotp', { code: codeOf(secret) })).status).toBe('200')
  expect(await signIn()).toBe('403 FACTOR_REQUIRED')
})
