import { beforeEach, describe, expect, test } from 'vitest'
import { readAudit } from '../../support/read-audit.ts'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { CLIENT, startOidcServer } from './oidc-server.ts'

const acme = await startOidcServer()
const { auth, open } = await createOauthAuth({ providers: { acme: { ...CLIENT, issuer: acme.issuer } } })

let ada: ReturnType<typeof newPerson>
let browser: Browser
beforeEach(() => {
  ada = newPerson()
  acme.person = ada
  acme.cancels = false
  browser = open()
})

describe('a sign-in at an OpenID provider', () => {
  test('creates a user with a session, and returns to the page', async () => {
    const landing = await browser.go('signInOauth')
    expect([landing.status, landing.page]).toEqual([303, '/home'])
    expect(landing.response.headers.get('cache-control')).toBe('no-store')
    const { body } = await browser.call('getSession')
    expect(body).toMatchObject({
      user: { name: 'Ada', email: ada.email, emailVerified: true, role: 'user' },
      session: { current: true, amr: ['oauth'] },
    })
    const audit = await readAudit(auth, body.user.id)
    expect(audit.map(({ type }) => type)).toEqual(['user.created', 'oauth:account-linked', 'session.created'])
  })

  test('finds the same user again, whatever their email is by now', async () => {
    await browser.go('signInOauth')
    const { user } = (await browser.call('getSession')).body
    acme.person = { ...ada, email: 'elsewhere@example.com', email_verified: false }
    const laptop = open()
    await laptop.go('signInOauth')
    expect((await laptop.call('getSession')).body.user).toEqual(user)
  })

  test('leaves only the cookies of the session in the browser', async () => {
    await browser.call('signInOauth', ACME)
    expect(browser.cookie).toMatch(/^service\.oauth=/)
    await browser.go('signInOauth')
    expect(browser.cookie.split('; ').map((pair) => pair.split('=')[0])).toEqual([
      'service.jwt',
      'service.session',
    ])
  })
})
