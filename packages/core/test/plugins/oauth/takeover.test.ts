import { totp } from '@sallyport/core/plugins/totp'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { insertLink } from '../../support/insert-link.ts'
import { insertTotp } from '../../support/insert-totp.ts'
import { createOutbox } from '../../support/outbox.ts'
import { readAudit } from '../../support/read-audit.ts'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { startLocalProvider } from './local-provider.ts'
import { CLIENT, startOidcServer } from './oidc-server.ts'

const acme = await startOidcServer()
const other = await startLocalProvider()
const providers = {
  acme: { ...CLIENT, issuer: acme.issuer },
  other: { ...CLIENT, issuer: other.issuer },
  company: { ...CLIENT, issuer: other.issuer, linkByEmail: false },
}
const outbox = createOutbox()
const { auth, open, emails } = await createOauthAuth(
  { providers },
  { plugins: [totp({ issuer: 'Test' })], emailPassword: { sendEmail: outbox.sendEmail } },
)

let ada: ReturnType<typeof newPerson>
let browser: Browser
beforeEach(() => {
  ada = newPerson()
  acme.person = ada
  other.person = ada
  browser = open()
})

const EXISTS = '/sign-in?error=ACCOUNT_EXISTS'
const UNVERIFIED = '/sign-in?error=PROVIDER_EMAIL_UNVERIFIED'
const at = (provider: string) => ({ ...ACME, provider })

async function createVerifiedUser(email: string): Promise<string> {
  const { userId } = await auth.createUser({ email })
  await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', userId).execute()
  return userId
}

describe('a first sign-in with the email of a user', () => {
  test('does not enter an account that was registered by someone who never verified the address', async () => {
    await auth.createUser({ email: ada.email })
    expect((await browser.go('signInOauth')).page).toBe(EXISTS)
    expect(browser.cookie).not.toContain('service.session')
  })

  test('finds the user if both sides have verified it, and sends a notice', async () => {
    const userId = await createVerifiedUser(ada.email)
    acme.person = { ...ada, email: ada.email.toUpperCase() }
    expect((await browser.go('signInOauth')).page).toBe('/home')
    expect((await browser.call('getSession')).body.user.id).toBe(userId)
    const notice = { kind: 'account-linked', to: ada.email, provider: 'acme' }
    await expect.poll(() => emails).toContainEqual(expect.objectContaining(notice))
  })

  test('is rejected if it is another mailbox, whose Kelvin sign is a k in lower case', async () => {
    await createVerifiedUser(`k${ada.email}`)
    acme.person = { ...ada, email: `\u212a${ada.email}` }
    expect((await browser.go('signInOauth')).page).toBe(UNVERIFIED)
    expect(browser.cookie).not.toContain('service.session')
  })

  test('links the provider as a way to sign in, and leaves the sessions of the user as they are', async () => {
    const userId = await createVerifiedUser(ada.email)
    const laptop = open()
    await laptop.signIn(ada.email)
    const before = await readAudit(auth, userId)
    expect((await browser.go('signInOauth')).page).toBe('/home')
    expect((await laptop.call('getSession')).status).toBe('200')
    const { accounts } = (await laptop.call('listAccounts')).body
    expect(accounts.map(({ provider }: { provider: string }) => provider).sort()).toEqual([
      'acme',
      'credential',
    ])
    expect((await readAudit(auth, userId)).slice(before.length)).toMatchObject([
      { type: 'oauth:account-linked', provider: 'acme', actorId: null, address: '203.0.113.7' },
      { type: 'session.created', knownDevice: false },
    ])
    const newSignIns = () =>
      outbox.emails.filter(({ kind, to }) => kind === 'new-sign-in' && to === ada.email)
    // One of them is of the laptop.
    await expect.poll(newSignIns).toHaveLength(2)
  })

  test('links nothing to an account with a second factor, which a mailbox alone must not get around', async () => {
    const userId = await createVerifiedUser(ada.email)
    await insertTotp(auth, [userId])
    expect((await browser.go('signInOauth')).page).toBe(EXISTS)
    const accounts = auth.db.selectFrom('account').select('providerId').where('userId', '=', userId)
    expect(await accounts.execute()).toEqual([{ providerId: 'credential' }])
  })

  test.each([
    ['says is not verified', false],
    ['says nothing about', undefined],
  ])(
    'is rejected if it is one that the provider %s, whether a user has it or not',
    async (_name, verified) => {
      const person = { sub: ada.sub, name: ada.name, email: ada.email }
      other.person = { ...person, ...(verified !== undefined && { email_verified: verified }) }
      expect((await browser.go('signInOauth', at('other'))).page).toBe(UNVERIFIED)
      await createVerifiedUser(ada.email)
      expect((await browser.go('signInOauth', at('other'))).page).toBe(UNVERIFIED)
      expect(browser.cookie).not.toContain('service.session')
    },
  )

  test('links nothing to a banned user, and is recorded', async () => {
    const userId = await createVerifiedUser(ada.email)
    await auth.db.updateTable('user').set({ banned: true }).where('id', '=', userId).execute()
    expect((await browser.go('signInOauth')).page).toBe('/sign-in?error=ACCOUNT_BANNED')
    const accounts = auth.db.selectFrom('account').select('providerId').where('userId', '=', userId)
    expect(await accounts.execute()).toEqual([{ providerId: 'credential' }])
    const rejection = { type: 'sign-in.failed', reason: 'ACCOUNT_BANNED', address: '203.0.113.7' }
    expect((await readAudit(auth, userId)).at(-1)).toMatchObject(rejection)
  })

  test.each([
    { who: 'valid', banned: false },
    { who: 'banned', banned: true },
  ])(
    'is rejected in the same way for a $who user at a provider whose customers can set any email',
    async ({ banned }) => {
      const userId = await createVerifiedUser(ada.email)
      await auth.db.updateTable('user').set({ banned }).where('id', '=', userId).execute()
      expect((await browser.go('signInOauth', at('company'))).page).toBe(EXISTS)
    },
  )

  test('does not enter an account that was registered by such a provider, until the owner takes it', async () => {
    const attacker = open()
    expect((await attacker.go('signInOauth', at('company'))).page).toBe('/home')
    const { id: userId, emailVerified } = (await attacker.call('getSession')).body.user
    expect(emailVerified).toBe(false)
    expect((await browser.go('signInOauth')).page).toBe(EXISTS)

    const token = await insertLink(auth, { kind: 'reset-password', userId, email: ada.email })
    expect((await browser.call('resetPassword', { token, newPassword: TEST_PASSWORD })).status).toBe('200')
    expect((await attacker.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
    expect((await attacker.go('signInOauth', at('company'))).page).toBe(EXISTS)
    expect((await browser.go('signInOauth')).page).toBe('/home')
    expect((await browser.call('getSession')).body.user).toMatchObject({ id: userId, emailVerified: true })
  })

  test('leaves an account with the factor of a stranger once an admin has reset it, and then the owner', async () => {
    const attacker = open()
    await attacker.go('signInOauth', at('company'))
    const { id: userId } = (await attacker.call('getSession')).body.user
    await insertTotp(auth, [userId])
    const reset = async () => {
      const token = await insertLink(auth, { kind: 'reset-password', userId, email: ada.email })
      return (await browser.call('resetPassword', { token, newPassword: TEST_PASSWORD })).status
    }
    expect(await reset()).toBe('200')

    const admin = open()
    admin.cookie = (await auth.signIn({ role: 'admin' })).cookie
    expect((await admin.call('resetUserFactors', { userId, reason: 'a stranger' })).status).toBe('200')
    expect((await attacker.go('signInOauth', at('company'))).page).toBe('/home')
    expect(await reset()).toBe('200')
    expect((await attacker.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
    expect((await attacker.go('signInOauth', at('company'))).page).toBe(EXISTS)
  })

  test('does not enter the account of the former owner of a recycled address', async () => {
    await browser.go('signInOauth')
    acme.person = { ...newPerson(), email: ada.email }
    const stranger = open()
    expect((await stranger.go('signInOauth')).page).toBe(EXISTS)
    expect(stranger.cookie).not.toContain('service.session')
  })
})

describe('another sub', () => {
  test('is another account, whatever else is equal', async () => {
    await browser.go('signInOauth')
    acme.person = { ...ada, sub: crypto.randomUUID(), email: `new-${ada.email}` }
    const stranger = open()
    await stranger.go('signInOauth')
    const users = await Promise.all([browser, stranger].map((each) => each.call('getSession')))
    expect(users[0]?.body.user.id).not.toBe(users[1]?.body.user.id)
  })

  test('of the same name at another provider is another account', async () => {
    await browser.go('signInOauth')
    other.person = { ...newPerson(), sub: ada.sub }
    const stranger = open()
    await stranger.go('signInOauth', at('other'))
    const users = await Promise.all([browser, stranger].map((each) => each.call('getSession')))
    expect(users[0]?.body.user.id).not.toBe(users[1]?.body.user.id)
  })

  test('in UserInfo than in the ID token is rejected', async () => {
    const local = await startLocalProvider({ userinfo_endpoint: `${other.issuer}/userinfo` })
    const mixed = await createOauthAuth(
      { providers: { acme: { ...CLIENT, issuer: local.issuer } } },
      { onFailure: () => {} },
    )
    local.person = { sub: ada.sub }
    const read = async (sub: string) => {
      other.resources.set('/userinfo', { ...ada, sub })
      return (await mixed.open().go('signInOauth')).page
    }
    expect(await read('someone-else')).toBe('/sign-in?error=SIGN_IN_FAILED')
    expect(await read(ada.sub)).toBe('/home')
  })
})

test('an email is verified by UserInfo if the ID token has it without saying so, as at Okta', async () => {
  const okta = await startLocalProvider({
    userinfo_endpoint: `${other.issuer}/userinfo`,
    claims_supported: ['email', 'email_verified'],
  })
  const thin = await createOauthAuth({ providers: { acme: { ...CLIENT, issuer: okta.issuer } } })
  okta.person = { sub: ada.sub, email: `old-${ada.email}` }
  const laptop = thin.open()
  for (const [verified, page] of [
    [false, UNVERIFIED],
    [true, '/home'],
  ] as const) {
    other.resources.set('/userinfo', { ...ada, email_verified: verified })
    expect((await laptop.go('signInOauth')).page).toBe(page)
  }
  const { email, emailVerified } = (await laptop.call('getSession')).body.user
  expect([email, emailVerified]).toEqual([ada.email, true])
})

describe('a link', () => {
  test('is rejected for a user who may have registered with the address of someone else', async () => {
    const { email } = await auth.createUser()
    await browser.signIn(email)
    expect((await browser.go('linkAccount')).page).toBe(UNVERIFIED)
    expect((await browser.call('listAccounts')).body.accounts).toHaveLength(1)
  })

  test('with a provider that has verified the same address verifies it', async () => {
    await auth.createUser({ email: ada.email })
    await browser.signIn(ada.email)
    expect((await browser.go('linkAccount')).page).toBe('/home')
    expect((await browser.call('getSession')).body.user.emailVerified).toBe(true)
  })

  test('with a provider whose customers can set any email verifies none', async () => {
    await auth.createUser({ email: ada.email })
    await browser.signIn(ada.email)
    expect((await browser.go('linkAccount', at('company'))).page).toBe(UNVERIFIED)
    expect((await browser.call('getSession')).body.user.emailVerified).toBe(false)
  })

  test('is rejected if the account is linked to another user', async () => {
    await open().go('signInOauth')
    const email = `b-${ada.email}`
    await createVerifiedUser(email)
    await browser.signIn(email)
    expect((await browser.go('linkAccount')).page).toBe('/sign-in?error=ACCOUNT_TAKEN')
  })

  test('can not be finished by a browser that was lured to the callback', async () => {
    await createVerifiedUser(`v-${ada.email}`)
    const attacker = open()
    await createVerifiedUser(`a-${ada.email}`)
    await attacker.signIn(`a-${ada.email}`)
    const { body } = await attacker.call('linkAccount', ACME)
    const url = await attacker.visit(body.url)
    await browser.signIn(`v-${ada.email}`)
    expect((await browser.open(url)).page).toBe('/?error=SIGN_IN_EXPIRED')
    expect((await browser.call('listAccounts')).body.accounts).toHaveLength(1)
  })

  test('is rejected once another user has signed in in this browser', async () => {
    await createVerifiedUser(`a-${ada.email}`)
    await createVerifiedUser(`b-${ada.email}`)
    await browser.signIn(`a-${ada.email}`)
    const { body } = await browser.call('linkAccount', ACME)
    const url = await browser.visit(body.url)
    await browser.signIn(`b-${ada.email}`)
    expect((await browser.open(url)).page).toBe('/sign-in?error=SESSION_NOT_FOUND')
    expect((await browser.call('listAccounts')).body.accounts).toHaveLength(1)
  })
})
