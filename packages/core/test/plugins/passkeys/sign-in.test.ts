import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth } from '@sallyport/core/testing'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { insertTotp } from '../../support/insert-totp.ts'
import { readAudit } from '../../support/read-audit.ts'
import { Authenticator, type Ceremony } from './authenticator.ts'
import { type Browser, createPasskeyAuth, openBrowser } from './browser.ts'

const { auth, emails, open } = await createPasskeyAuth()

let user: { userId: string; email: string }
let ada: Browser
let laptop: Authenticator

/** A user without a passkey, signed in by password. */
const signedIn = async () => {
  const created = await auth.createUser()
  const browser = open()
  await browser.signIn(created.email)
  return { ...created, browser }
}

beforeEach(async () => {
  const created = await signedIn()
  user = created
  ada = created.browser
  laptop = new Authenticator()
  expect((await ada.addPasskey(laptop)).status).toBe('200')
})

/** Removes the passkey between its proof and what follows. */
const removeAfterProof = ({ id }: Authenticator) =>
  vi.spyOn(auth.database.limits, 'giveBack').mockImplementationOnce(async () => {
    const db = auth.db.$extendTables<{ passkeyCredential: { id: string } }>()
    await db.deleteFrom('passkeyCredential').where('id', '=', id).execute()
  })

const methodsOf = async (browser: Browser) => (await browser.call('getSession')).body.session.amr

describe('signing in without a username', () => {
  test('gets options that name no user', async () => {
    const { body } = await open().call('createPasskeySignInOptions')
    expect(body).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rpId: 'localhost',
      timeout: 300_000,
      userVerification: 'required',
    })
  })

  test('begins a session that has proved the passkey, and remembers its use', async () => {
    const browser = open()
    expect(await browser.signInPasskey(laptop)).toMatchObject({
      status: '200',
      body: { userId: user.userId },
    })
    expect(await methodsOf(browser)).toEqual(['passkey'])
    const { body } = await browser.call('listPasskeys')
    expect(body.passkeys[0].lastUsedAt).toBe(auth.clock.now().toISOString())
  })

  test('works for an authenticator without a counter', async () => {
    const { browser } = await signedIn()
    const phone = new Authenticator()
    await browser.addPasskey(phone, { counter: 0, isSynced: true })
    for (let times = 0; times < 2; times++)
      expect((await open().signInPasskey(phone, { counter: 0, isSynced: true })).status).toBe('200')
  })

  test('keeps the sign-ins of two tabs apart', async () => {
    const browser = open()
    const first = (await browser.call('createPasskeySignInOptions')).body
    const second = (await browser.call('createPasskeySignInOptions')).body
    for (const options of [first, second])
      expect((await browser.call('signInPasskey', { response: laptop.get(options) })).status).toBe('200')
  })

  test.each<[string, Partial<Ceremony>]>([
    ['from another origin', { origin: 'https://evil.example' }],
    ['from a cross-origin frame', { crossOrigin: true }],
    ['for another domain', { rpId: 'evil.example' }],
    ['without user verification', { isVerified: false }],
    ['of a registration', { type: 'webauthn.create' }],
    ['without a user handle', { userHandle: null }],
    ['with the user handle of another user', { userHandle: 'AAAA' }],
    ['with another flag for backup eligibility', { isSynced: true }],
    ['whose counter went back', { counter: 1 }],
  ])('rejects a response %s', async (_name, changes) => {
    expect((await open().signInPasskey(laptop, changes)).status).toBe('400 PASSKEY_INVALID')
    expect((await open().signInPasskey(laptop)).status).toBe('200')
  })

  test('rejects a changed signature', async () => {
    const browser = open()
    const { body } = await browser.call('createPasskeySignInOptions')
    const response = laptop.get(body)
    response.response.signature = new Authenticator().get(body).response.signature
    expect((await browser.call('signInPasskey', { response })).status).toBe('400 PASSKEY_INVALID')
  })

  test('responds to an unknown passkey as to a wrong signature', async () => {
    const failed = async (authenticator: Authenticator, changes: Partial<Ceremony>) => {
      const before = await auth.db.selectFrom('sallyport.audit').select('id').execute()
      const { status, body } = await open().signInPasskey(authenticator, changes)
      const after = await auth.db.selectFrom('sallyport.audit').selectAll().execute()
      const types = after.slice(before.length).map(({ type, detail }) => [type, JSON.parse(detail).reason])
      return { status, body, types }
    }
    const wrong = await failed(laptop, { isVerified: false })
    expect(wrong.types).toEqual([['sign-in.failed', 'INVALID_CREDENTIALS']])
    expect(await failed(new Authenticator(), { userHandle: 'AAAA' })).toEqual(wrong)
  })

  test('records a counter that went back', async () => {
    await open().signInPasskey(laptop, { counter: 1 })
    const detail = { passkeyId: laptop.id, counter: 1, last: 1 }
    expect(await readAudit(auth, user.userId)).toContainEqual(
      expect.objectContaining({ type: 'passkeys:counter-regressed', ...detail }),
    )
  })

  test('does not trust the counter of a response with a wrong signature', async () => {
    const browser = open()
    const { body } = await browser.call('createPasskeySignInOptions')
    const response = laptop.get(body, { counter: 1 })
    response.response.signature = new Authenticator().get(body).response.signature
    await browser.call('signInPasskey', { response })
    const types = (await readAudit(auth, user.userId)).map(({ type }) => type)
    expect(types).not.toContain('passkeys:counter-regressed')
  })

  test('accepts one of two concurrent responses with the same counter', async () => {
    const counter = 7
    const replies = await Promise.all([
      open().signInPasskey(laptop, { counter }),
      open().signInPasskey(laptop, { counter }),
    ])
    expect(replies.map(({ status }) => status).sort()).toEqual(['200', '400 PASSKEY_INVALID'])
  })

  test('is rejected if the passkey is removed meanwhile', async () => {
    removeAfterProof(laptop)
    expect((await open().signInPasskey(laptop)).status).toBe('400 PASSKEY_INVALID')
  })

  test('of a banned user is rejected, and uses up its challenge', async () => {
    await auth.ban(await auth.signIn({ userId: user.userId }))
    const challenges = async () => (await dumpTables(auth)).passkeyChallenge
    const before = await challenges()
    expect((await open().signInPasskey(laptop)).status).toBe('403 ACCOUNT_BANNED')
    expect(await challenges()).toEqual(before)
    const wrong = await open().signInPasskey(laptop, { isVerified: false })
    expect(wrong.status).toBe('400 PASSKEY_INVALID')
  })

  test('is limited per address, without counting those that succeed', async () => {
    const limited = await createPasskeyAuth({ limits: { address: { points: 2, duration: 60 } } })
    const { email } = await limited.auth.createUser()
    const browser = limited.open()
    await browser.signIn(email)
    const phone = new Authenticator()
    await browser.addPasskey(phone)
    const visitor = limited.open()
    const send = async (changes: Partial<Ceremony> = {}) =>
      (await visitor.signInPasskey(phone, changes)).status
    for (let times = 0; times < 3; times++) expect(await send()).toBe('200')
    for (let times = 0; times < 2; times++)
      expect(await send({ isVerified: false })).toBe('400 PASSKEY_INVALID')
    expect(await send()).toBe('429 RATE_LIMITED')
  })

  test('gets options as often as the limit allows', async () => {
    const limited = await createPasskeyAuth({ limits: { options: { points: 2, duration: 60 } } })
    const visitor = limited.open()
    const statuses = []
    for (let times = 0; times < 3; times++)
      statuses.push((await visitor.call('createPasskeySignInOptions')).status)
    expect(statuses).toEqual(['200', '200', '429 RATE_LIMITED'])
  })
})

describe('a challenge', () => {
  test('is accepted once, even if its response was wrong', async () => {
    const browser = open()
    const { body } = await browser.call('createPasskeySignInOptions')
    const send = async (changes: Partial<Ceremony> = {}) =>
      (await browser.call('signInPasskey', { response: laptop.get(body, changes) })).status
    expect(await send({ isVerified: false })).toBe('400 PASSKEY_INVALID')
    expect(await send()).toBe('400 PASSKEY_TIMEOUT')
  })

  test('is accepted once by concurrent calls', async () => {
    const browser = open()
    const { body } = await browser.call('createPasskeySignInOptions')
    const send = () => browser.call('signInPasskey', { response: laptop.get(body) })
    const replies = await Promise.all([send(), send()])
    expect(replies.map(({ status }) => status).sort()).toEqual(['200', '400 PASSKEY_TIMEOUT'])
  })

  test('expires after five minutes', async () => {
    const browser = open()
    const { body } = await browser.call('createPasskeySignInOptions')
    auth.clock.advance(300)
    const reply = await browser.call('signInPasskey', { response: laptop.get(body) })
    expect(reply.status).toBe('400 PASSKEY_TIMEOUT')
  })

  test('must come from us', async () => {
    const challenge = Buffer.alloc(32).toString('base64url')
    expect((await open().signInPasskey(laptop, { challenge })).status).toBe('400 PASSKEY_TIMEOUT')
  })

  test('is bound to the browser', async () => {
    const { body } = await open().call('createPasskeySignInOptions')
    const [visitor, another] = [open(), open()]
    await another.call('createPasskeySignInOptions')
    for (const browser of [visitor, another]) {
      const reply = await browser.call('signInPasskey', { response: laptop.get(body) })
      expect(reply.status).toBe('400 PASSKEY_TIMEOUT')
    }
  })

  test('is bound to its purpose', async () => {
    const { body } = await ada.call('createPasskeySignInOptions')
    const reply = await ada.call('reauthenticatePasskey', { response: laptop.get(body) })
    expect(reply.status).toBe('400 PASSKEY_TIMEOUT')
    const added = await ada.call('createPasskeyOptions')
    const request = { ...added.body, rpId: added.body.rp.id }
    expect((await ada.call('signInPasskey', { response: laptop.get(request) })).status).toBe(
      '400 PASSKEY_TIMEOUT',
    )
    const response = laptop.get(request)
    expect((await ada.call('reauthenticatePasskey', { response })).status).toBe('400 PASSKEY_TIMEOUT')
    const again = await ada.call('createPasskeyReauthenticationOptions')
    expect((await ada.call('signInPasskey', { response: laptop.get(again.body) })).status).toBe(
      '400 PASSKEY_TIMEOUT',
    )
  })

  test('is bound to the session', async () => {
    const { body } = await ada.call('createPasskeyReauthenticationOptions')
    // The same browser signs in again.
    expect((await ada.signInPasskey(laptop)).status).toBe('200')
    const reply = await ada.call('reauthenticatePasskey', { response: laptop.get(body) })
    expect(reply.status).toBe('400 PASSKEY_TIMEOUT')
  })
})

describe('a second factor', () => {
  const challengeOf = async (browser: Browser) => {
    const { status, body } = await browser.signIn(user.email)
    expect(status).toBe('403 FACTOR_REQUIRED')
    expect(body.challenge.methods).toEqual(['passkey'])
    return body.challenge.token as string
  }

  test('completes a sign-in by password, once', async () => {
    const browser = open()
    const challenge = await challengeOf(browser)
    expect((await browser.signInPasskey(laptop, {}, { challenge })).status).toBe('200')
    expect(await methodsOf(browser)).toEqual(['pwd', 'passkey'])
    expect((await browser.signInPasskey(laptop, {}, { challenge })).status).toBe('400 CHALLENGE_INVALID')
  })

  test('is a passkey of the same user', async () => {
    const bob = await signedIn()
    const phone = new Authenticator()
    await bob.browser.addPasskey(phone)
    const browser = open()
    const challenge = await challengeOf(browser)
    const reply = await browser.signInPasskey(phone, {}, { challenge })
    expect(reply.status).toBe('400 PASSKEY_INVALID')
    expect((await browser.signInPasskey(laptop, {}, { challenge })).status).toBe('200')
  })

  test('is not asked for after a sign-in by passkey', async () => {
    expect((await open().signInPasskey(laptop)).status).toBe('200')
  })

  test('can be removed by an admin, with its proofs and an email', async () => {
    const { userId } = user
    const root = await auth.createUser({ role: 'admin' })
    const admin = open()
    await admin.signIn(root.email)
    expect((await admin.call('resetUserFactors', { userId, reason: 'lost' })).status).toBe('200')
    const notice = { kind: 'passkey-removed', to: user.email }
    await eventually(() => expect(emails).toContainEqual(expect.objectContaining(notice)))
    expect((await open().signInPasskey(laptop)).status).toBe('400 PASSKEY_INVALID')
    expect((await open().signIn(user.email)).status).toBe('200')
  })
})

describe('re-authentication', () => {
  test('makes the session fresh and replaces its credentials', async () => {
    const other = await signedIn()
    const phone = new Authenticator()
    await other.browser.addPasskey(phone)
    auth.clock.advance(14 * 60)
    await other.browser.call('token')
    auth.clock.advance(120)
    await other.browser.call('token')
    expect((await other.browser.call('createPasskeyOptions')).status).toBe('403 SESSION_NOT_FRESH')
    const copy = open()
    copy.cookie = other.browser.cookie
    expect((await other.browser.reauthenticate(phone)).status).toBe('200')
    expect((await other.browser.call('createPasskeyOptions')).status).toBe('200')
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
  })

  test('lists the passkeys that can respond', async () => {
    const { body } = await ada.call('createPasskeyReauthenticationOptions')
    expect(body.allowCredentials).toEqual([{ id: laptop.id, type: 'public-key', transports: [] }])
  })

  test('accepts a passkey that does not name its user', async () => {
    expect((await ada.reauthenticate(laptop, { userHandle: null })).status).toBe('200')
  })

  test("rejects another user's passkey", async () => {
    const bob = await signedIn()
    const phone = new Authenticator()
    await bob.browser.addPasskey(phone)
    expect((await ada.reauthenticate(phone)).status).toBe('400 PASSKEY_INVALID')
    expect((await ada.reauthenticate(phone, { userHandle: null })).status).toBe('400 PASSKEY_INVALID')
    expect((await bob.browser.reauthenticate(phone)).status).toBe('200')
  })

  test('rejects a response without user verification, or with a counter that went back', async () => {
    expect((await ada.reauthenticate(laptop, { isVerified: false })).status).toBe('400 PASSKEY_INVALID')
    expect((await ada.reauthenticate(laptop, { counter: 1 })).status).toBe('400 PASSKEY_INVALID')
  })

  test('is rejected if the passkey is removed meanwhile', async () => {
    removeAfterProof(laptop)
    expect((await ada.reauthenticate(laptop)).status).toBe('400 PASSKEY_INVALID')
  })

  test('needs the secret of the session', async () => {
    const copy = open()
    copy.cookie = ada.cookie
      .split('; ')
      .filter((pair) => !pair.startsWith('service.session='))
      .join('; ')
    const { body } = await copy.call('createPasskeyReauthenticationOptions')
    const reply = await copy.call('reauthenticatePasskey', { response: laptop.get(body) })
    expect(reply.status).toBe('400 SESSION_SECRET_REQUIRED')
  })

  test('needs a passkey', async () => {
    const { browser } = await signedIn()
    const reply = await browser.call('createPasskeyReauthenticationOptions')
    expect(reply.status).toBe('404 PASSKEY_NOT_FOUND')
  })
})

describe('without requiredAtSignIn', () => {
  test('a password alone signs in a user who has a passkey', async () => {
    const relaxed = await createPasskeyAuth({ requiredAtSignIn: false })
    const { email } = await relaxed.auth.createUser()
    const browser = relaxed.open()
    await browser.signIn(email)
    await browser.addPasskey(new Authenticator())
    expect((await relaxed.open().signIn(email)).status).toBe('200')
  })

  test('a passkey completes a sign-in for which another factor is required', async () => {
    const both = await createTestAuth({ plugins: [passkeys(), totp({ issuer: 'Test' })] })
    onTestFinished(() => both.close())
    const { userId, email } = await both.createUser()
    const browser = openBrowser(both, '203.0.113.9')
    await browser.signIn(email)
    const authenticator = new Authenticator()
    await browser.addPasskey(authenticator)
    await insertTotp(both, [userId])
    const elsewhere = openBrowser(both, '203.0.113.10')
    const { body } = await elsewhere.signIn(email)
    expect(body.challenge.methods).toEqual(['passkey', 'otp', 'recovery'])
    const completed = { challenge: body.challenge.token }
    expect((await elsewhere.signInPasskey(authenticator, {}, completed)).status).toBe('200')
  })
})
