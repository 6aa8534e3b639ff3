import { createAuth } from '@sallyport/core/auth'
import { beforeEach, describe, expect, test } from 'vitest'
import { withOwnTables } from '../../../src/plugins/totp/tables.ts'
import { dumpTables } from '../../support/dump-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { insertLink } from '../../support/insert-link.ts'
import { type Browser, openBrowser } from '../../support/open-browser.ts'
import { readAudit } from '../../support/read-audit.ts'
import { createTotpAuth } from './browser.ts'

const { auth, emails, outbox, open, codeOf } = await createTotpAuth()

let user: { userId: string; email: string }
let ada: Browser
let secret: string
let recoveryCodes: string[]

/** Each code is accepted once, so a test that sends another one waits for the next step. */
const nextCode = () => {
  auth.clock.advance(30)
  return codeOf(secret)
}

beforeEach(async () => {
  user = await auth.createUser()
  ada = open()
  await ada.signIn(user.email)
  secret = (await ada.call('enableTotp')).body.secret
  const confirmed = await ada.call('confirmTotp', { code: codeOf(secret) })
  expect(confirmed.status).toBe('200')
  recoveryCodes = confirmed.body.recoveryCodes
})

const challengeOf = async (browser: Browser) => {
  const { status, body } = await browser.signIn(user.email)
  expect(status).toBe('403 FACTOR_REQUIRED')
  return body.challenge
}

const methodsOf = async (browser: Browser) => (await browser.call('getSession')).body.session.amr

test('an auth server without encryption keys does not start', async () => {
  const definition = { ...auth.definition, encryptionKeys: null }
  await expect(createAuth(definition, auth.database, { pruneEverySeconds: 0 })).rejects.toThrow(
    /ENCRYPTION_KEYS is not set, and totp needs it/,
  )
})

test('a code of an app that is replaced while its secret is decrypted is rejected', async () => {
  const { encryptionKeys } = auth.definition
  const replacing = encryptionKeys && {
    ...encryptionKeys,
    async decrypt(...stored: Parameters<typeof encryptionKeys.decrypt>) {
      const text = await encryptionKeys.decrypt(...stored)
      const apps = withOwnTables(auth.db).updateTable('totp').set({ secret: 'another' })
      await apps.where('userId', '=', user.userId).execute()
      return text
    },
  }
  const definition = { ...auth.definition, encryptionKeys: replacing }
  const server = await createAuth(definition, auth.database, { pruneEverySeconds: 0 })
  const { token: challenge } = await challengeOf(open())
  const { status } = await openBrowser(server).call('signInTotp', { challenge, code: nextCode() })
  expect(status).toBe('409 TOTP_NOT_ENABLED')
})

test('the secret of an app that was never confirmed is not decrypted, since its key may be gone', async () => {
  const { encryptionKeys } = auth.definition
  const withoutKey = encryptionKeys && {
    ...encryptionKeys,
    decrypt: () => Promise.reject(new Error('ENCRYPTION_KEYS lacks the key')),
  }
  const definition = { ...auth.definition, encryptionKeys: withoutKey }
  const browser = openBrowser(await createAuth(definition, auth.database, { pruneEverySeconds: 0 }))
  await browser.signIn((await auth.createUser()).email)
  await browser.call('enableTotp')
  const { status } = await browser.call('reauthenticateTotp', { code: '000000' })
  expect(status).toBe('409 TOTP_NOT_ENABLED')
})

describe('setting up', () => {
  test('returns a URI for authenticator apps, and stores the secret encrypted', async () => {
    const other = await auth.createUser()
    const browser = open()
    await browser.signIn(other.email)
    const { body } = await browser.call('enableTotp')
    const uri = new URL(body.uri)
    expect(uri.href).toContain(`otpauth://totp/Test:${encodeURIComponent(other.email)}`)
    expect(uri.searchParams.get('secret')).toBe(body.secret)
    const db = auth.db.$extendTables<{ totp: { userId: string; secret: string } }>()
    const row = await db.selectFrom('totp').selectAll().where('userId', '=', other.userId).executeTakeFirst()
    expect(row?.secret).not.toContain(body.secret)
    expect(await auth.definition.encryptionKeys?.decrypt(row?.secret ?? '', ['totp', other.userId])).toBe(
      body.secret,
    )
  })

  test('has no effect until a first code was accepted', async () => {
    const other = await auth.createUser()
    const browser = open()
    await browser.signIn(other.email)
    const { body } = await browser.call('enableTotp')
    expect((await browser.call('confirmTotp', { code: '000000' })).status).toBe('400 CODE_INVALID')
    expect((await browser.call('getTotp')).body).toEqual({ enabledAt: null, recoveryCodes: 0 })
    expect((await open().signIn(other.email)).status).toBe('200')
    expect((await browser.call('confirmTotp', { code: codeOf(body.secret) })).status).toBe('200')
    expect((await open().signIn(other.email)).status).toBe('403 FACTOR_REQUIRED')
  })

  test('accepts no recovery code of an app whose row was deleted by hand', async () => {
    const db = auth.db.$extendTables<{ totp: { userId: string } }>()
    await db.deleteFrom('totp').where('userId', '=', user.userId).execute()
    const prove = async () => (await ada.call('reauthenticateTotp', { code: recoveryCodes[0] })).status
    expect(await prove()).toBe('409 TOTP_NOT_ENABLED')
    const { body } = await ada.call('enableTotp')
    expect(await prove()).toBe('409 TOTP_NOT_ENABLED')
    expect((await ada.call('confirmTotp', { code: recoveryCodes[0] })).status).toBe('400 CODE_INVALID')
    expect((await ada.call('confirmTotp', { code: codeOf(body.secret) })).status).toBe('200')
  })

  test('replaces the credentials of the session, which has proved the factor', async () => {
    expect(await methodsOf(ada)).toEqual(['pwd', 'otp'])
    const audit = await readAudit(auth, user.userId)
    expect(audit).toContainEqual(
      expect.objectContaining({ type: 'session.version-changed', cause: 'factor-added', version: 2 }),
    )
    expect(audit).toContainEqual(expect.objectContaining({ type: 'totp:enabled' }))
  })

  test('can end the other sessions', async () => {
    const other = await auth.createUser()
    const [first, second] = [open(), open()]
    await first.signIn(other.email)
    await second.signIn(other.email)
    const { body } = await first.call('enableTotp')
    await first.call('confirmTotp', { code: codeOf(body.secret), revokeOtherSessions: true })
    expect((await second.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
    expect((await first.call('getSession')).status).toBe('200')
  })

  test('is rejected while it is set up, and without a recent sign-in', async () => {
    expect((await ada.call('enableTotp')).status).toBe('409 TOTP_ENABLED')
    const other = await auth.createUser()
    const browser = open()
    await browser.signIn(other.email)
    auth.clock.advance(14 * 60)
    await browser.call('token')
    auth.clock.advance(120)
    await browser.call('token')
    expect((await browser.call('enableTotp')).status).toBe('403 SESSION_NOT_FRESH')
  })

  test('sends an email', async () => {
    const notice = { kind: 'totp-enabled', to: user.email, recoveryCodes: 10 }
    await eventually(() => expect(emails).toContainEqual(expect.objectContaining(notice)))
  })
})

describe('signing in', () => {
  test('needs the password and then a code, which completes it once', async () => {
    const browser = open()
    const challenge = await challengeOf(browser)
    expect(challenge).toEqual({ token: expect.any(String), methods: ['otp', 'recovery'], expiresIn: 600 })
    expect(browser.cookie).toBe('')
    const code = nextCode()
    const signIn = () => browser.call('signInTotp', { challenge: challenge.token, code })
    expect((await signIn()).status).toBe('200')
    expect(await methodsOf(browser)).toEqual(['pwd', 'otp'])
    expect((await signIn()).status).toBe('400 CHALLENGE_INVALID')
  })

  test.each([
    ['the previous step', -30],
    ['the current step', 0],
    ['the next step', 30],
  ])('accepts a code of %s', async (_name, seconds) => {
    auth.clock.advance(90)
    const { token } = await challengeOf(open())
    auth.clock.advance(seconds)
    const code = codeOf(secret)
    auth.clock.advance(-seconds)
    expect((await open().call('signInTotp', { challenge: token, code })).status).toBe('200')
  })

  test.each([
    ['two steps ago', -60],
    ['in two steps', 60],
  ])('rejects a code of %s', async (_name, seconds) => {
    auth.clock.advance(120)
    const { token } = await challengeOf(open())
    auth.clock.advance(seconds)
    const code = codeOf(secret)
    auth.clock.advance(-seconds)
    expect((await open().call('signInTotp', { challenge: token, code })).status).toBe('400 CODE_INVALID')
  })

  test('rejects a code that was accepted before, and every earlier one', async () => {
    auth.clock.advance(60)
    const earlier = codeOf(secret)
    const code = nextCode()
    const send = async (code: string) =>
      (await open().call('signInTotp', { challenge: (await challengeOf(open())).token, code })).status
    expect(await send(code)).toBe('200')
    expect(await send(code)).toBe('400 CODE_INVALID')
    expect(await send(earlier)).toBe('400 CODE_INVALID')
  })

  test('ends the challenge after five attempts, or ten minutes', async () => {
    const { token } = await challengeOf(open())
    for (let attempt = 0; attempt < 5; attempt++)
      expect((await open().call('signInTotp', { challenge: token, code: '000000' })).status).toBe(
        '400 CODE_INVALID',
      )
    const late = { challenge: token, code: nextCode() }
    expect((await open().call('signInTotp', late)).status).toBe('400 CHALLENGE_INVALID')
    const { token: expired } = await challengeOf(open())
    auth.clock.advance(601)
    expect((await open().call('signInTotp', { challenge: expired, code: codeOf(secret) })).status).toBe(
      '400 CHALLENGE_INVALID',
    )
  })

  test('rejects more codes from a network than its limit, however many challenges', async () => {
    for (let challenges = 0; challenges < 2; challenges++) {
      const { token } = await challengeOf(open())
      for (let attempt = 0; attempt < 5; attempt++)
        await open().call('signInTotp', { challenge: token, code: '000000' })
    }
    const { token } = await challengeOf(open())
    const reply = await open().call('signInTotp', { challenge: token, code: nextCode() })
    expect(reply.status).toBe('429 RATE_LIMITED')
  })

  test('ends open challenges when the password changes', async () => {
    const { token } = await challengeOf(open())
    await ada.call('changePassword', {
      currentPassword: 'correct horse battery staple',
      newPassword: 'another horse battery staple',
    })
    expect((await open().call('signInTotp', { challenge: token, code: nextCode() })).status).toBe(
      '400 CHALLENGE_INVALID',
    )
  })

  test('accepts a recovery code once, with an email', async () => {
    const [code = ''] = recoveryCodes
    const send = async () =>
      open().call('signInTotp', { challenge: (await challengeOf(open())).token, code: code.toLowerCase() })
    expect((await send()).status).toBe('200')
    expect((await send()).status).toBe('400 CODE_INVALID')
    const notice = { kind: 'recovery-code-used', to: user.email, recoveryCodes: 9 }
    await eventually(() => expect(emails).toContainEqual(expect.objectContaining(notice)))
    expect((await ada.call('getTotp')).body.recoveryCodes).toBe(9)
  })

  test("rejects another user's recovery code", async () => {
    const [code = ''] = recoveryCodes
    const other = await auth.createUser()
    const browser = open()
    await browser.signIn(other.email)
    const { body } = await browser.call('enableTotp')
    await browser.call('confirmTotp', { code: codeOf(body.secret) })
    const { token } = (await open().signIn(other.email)).body.challenge
    expect((await open().call('signInTotp', { challenge: token, code })).status).toBe('400 CODE_INVALID')
  })

  test('remembers the browser, and reports a right password from an unknown one', async () => {
    const browser = open()
    const { token } = await challengeOf(browser)
    const notices = () => outbox.emails.filter(({ kind, to }) => kind === 'new-sign-in' && to === user.email)
    // One of them is of the browser that set up the app.
    await eventually(() => expect(notices()).toHaveLength(2))
    await browser.call('signInTotp', { challenge: token, code: nextCode() })
    expect(browser.cookie).toContain(auth.config.cookies.device)
    await challengeOf(browser)
    await open().signIn((await auth.createUser()).email)
    expect(notices()).toHaveLength(2)
  })

  test('does not use up the attempts of a password that is right', async () => {
    for (let attempt = 0; attempt < 12; attempt++) await challengeOf(open())
  })

  test('by a banned user is rejected', async () => {
    const { token } = await challengeOf(open())
    const session = await auth.signIn({ userId: user.userId })
    await auth.ban(session)
    expect((await open().call('signInTotp', { challenge: token, code: nextCode() })).status).toBe(
      '403 ACCOUNT_BANNED',
    )
  })

  test("of the app's own code needs the factor too, unless amr names it", async () => {
    const request = new Request(auth.config.baseUrl, { headers: { 'x-sallyport': '1' } })
    const create = (amr: string[]) => auth.api.createSession({ userId: user.userId, amr, request })
    await expect(create(['oauth'])).rejects.toMatchObject({ reason: 'FACTOR_REQUIRED' })
    await expect(create(['oauth', 'otp'])).resolves.toMatchObject({ userId: user.userId })
  })
})

describe('a trusted device', () => {
  const trust = async () => {
    const browser = open()
    const { token } = await challengeOf(browser)
    await browser.call('signInTotp', { challenge: token, code: nextCode(), trustDevice: true })
    return browser
  }

  test('signs in without a code for 30 days, and only this user', async () => {
    const browser = await trust()
    expect((await browser.signIn(user.email)).status).toBe('200')
    expect(await methodsOf(browser)).toEqual(['pwd'])
    const other = await auth.createUser()
    const theirs = open()
    await theirs.signIn(other.email)
    const { body } = await theirs.call('enableTotp')
    await theirs.call('confirmTotp', { code: codeOf(body.secret) })
    expect((await browser.signIn(other.email)).status).toBe('403 FACTOR_REQUIRED')
    auth.clock.advance(30 * 24 * 3_600)
    expect((await browser.signIn(user.email)).status).toBe('403 FACTOR_REQUIRED')
  })

  test('loses its trust when a change of the email is undone', async () => {
    await trust()
    const rows = async () =>
      (await dumpTables(auth)).trustedDevice?.filter(({ userId }) => userId === user.userId)
    expect(await rows()).toHaveLength(1)
    const token = await insertLink(auth, { ...user, kind: 'undo-email-change' })
    expect((await open().call('undoEmailChange', { token })).status).toBe('200')
    expect(await rows()).toEqual([])
  })

  test.each([
    [
      'a password change',
      () =>
        ada.call('changePassword', {
          currentPassword: 'correct horse battery staple',
          newPassword: 'correct horse battery staple',
          revokeOtherSessions: false,
        }),
    ],
    ['revokeCopies', () => ada.call('revokeCopies')],
    ['new recovery codes', () => ada.call('createRecoveryCodes', { code: nextCode() })],
  ])('loses its trust with %s', async (_name, change) => {
    const browser = await trust()
    expect((await change()).status).toBe('200')
    expect((await browser.signIn(user.email)).status).toBe('403 FACTOR_REQUIRED')
  })
})

describe('removing it', () => {
  test('needs a code, and removes the factor from all sessions', async () => {
    const elsewhere = open()
    const { token } = await challengeOf(elsewhere)
    await elsewhere.call('signInTotp', { challenge: token, code: nextCode() })
    const disable = (code: string) => ada.call('disableTotp', { code, revokeOtherSessions: false })
    expect((await disable('000000')).status).toBe('400 CODE_INVALID')
    expect((await disable(nextCode())).status).toBe('200')
    expect(await methodsOf(ada)).toEqual(['pwd'])
    expect(await methodsOf(elsewhere)).toEqual(['pwd'])
    expect((await open().signIn(user.email)).status).toBe('200')
    expect((await ada.call('reauthenticateTotp', { code: nextCode() })).status).toBe('409 TOTP_NOT_ENABLED')
  })

  test('by an admin ends all sessions, is recorded with the reason, and sends an email', async () => {
    const root = await auth.createUser({ role: 'admin' })
    const admin = open()
    await admin.signIn(root.email)
    const factorsOf = async () => (await admin.call('listUserFactors', { userId: user.userId })).body
    const createdAt = expect.any(String)
    const accounts = [{ provider: 'credential', createdAt }]
    expect(await factorsOf()).toEqual({ accounts, factors: ['otp', 'recovery'] })
    const reset = { userId: user.userId, reason: 'Lost phone, passport checked' }
    emails.length = 0
    expect((await admin.call('resetUserFactors', reset)).status).toBe('200')
    const notice = { kind: 'totp-disabled', to: user.email, recoveryCodes: 0 }
    await eventually(() => expect(emails).toEqual([expect.objectContaining(notice)]))
    // Nothing was left to report.
    expect((await admin.call('resetUserFactors', reset)).status).toBe('200')
    expect(await factorsOf()).toEqual({ accounts, factors: [] })
    expect((await ada.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
    expect((await open().signIn(user.email)).status).toBe('200')
    expect(await readAudit(auth, user.userId)).toContainEqual(
      expect.objectContaining({ type: 'user.factors-reset', actorId: root.userId, reason: reset.reason }),
    )
    expect(emails).toHaveLength(1)
    const own = { userId: root.userId, reason: 'mine' }
    expect((await admin.call('resetUserFactors', own)).status).toBe('409 OWN_ACCOUNT')
  })
})

test('a copy of a JWT cannot prove the factor, because it lacks the session cookie', async () => {
  const jwt = ada.cookie.split('; ').find((cookie) => cookie.startsWith(auth.config.cookies.jwt)) ?? ''
  const copy = open()
  copy.cookie = jwt
  const reply = await copy.call('reauthenticateTotp', { code: nextCode() })
  expect(reply.status).toBe('400 SESSION_SECRET_REQUIRED')
})
