import { type AuthFailure, ConfigurationError } from '@sallyport/core'
import { admin } from '@sallyport/core/plugins/admin'
import { anonymous } from '@sallyport/core/plugins/anonymous'
import { emailCode } from '@sallyport/core/plugins/email-code'
import { type Email, type EmailPasswordOptions, emailPassword } from '@sallyport/core/plugins/email-password'
import { organization } from '@sallyport/core/plugins/organization'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { insertOrganization } from '../../support/insert-organization.ts'
import { type Browser as AppBrowser, openBrowser } from '../../support/open-browser.ts'
import { readAudit } from '../../support/read-audit.ts'
import { stored } from '../../support/stored.ts'
import { totpCode } from '../../support/totp-code.ts'
import { Authenticator } from '../passkeys/authenticator.ts'

const many = { points: 1_000_000, duration: 60 }

/** Creates an auth server whose passwords have these options, and keeps its emails. */
async function createAuth(options: EmailPasswordOptions = {}) {
  const emails: Email[] = []
  const withEmails = {
    limits: { address: many, email: many, mailbox: many },
    sendEmail: async (email: Email) => void emails.push(email),
    ...options,
  }
  const plugin = anonymous({
    password: emailPassword(withEmails),
    pruneAfterDays: 30,
    limits: { address: many },
  })
  const notices: { kind: string; to: string }[] = []
  const sendEmail = async (notice: { kind: string; to: string }) => void notices.push(notice)
  const plugins = [
    plugin,
    totp({ issuer: 'Test', sendEmail }),
    passkeys({ sendEmail }),
    emailCode({ sendEmail }),
    organization(),
  ] as const
  const failures: unknown[] = []
  const onFailure = ({ cause }: AuthFailure) => void failures.push(cause)
  const auth = await createTestAuth({ bearer: true, emailPassword: withEmails, plugins, onFailure })
  afterAll(() => auth.close())
  const users = auth.db.$extendTables<{
    user: { id: string; email: string; name: string; isAnonymous: number; emailVerified: number }
  }>()
  const userOf = (id: string) => users.selectFrom('user').selectAll().where('id', '=', id).executeTakeFirst()
  /** Waits for an email to an address. */
  const sent = (kind: Email['kind'], to: string) =>
    eventually(() => {
      const found = emails.find((email) => email.kind === kind && email.to === to)
      if (found === undefined) throw new Error(`No ${kind} came to ${to}`)
      return found
    })
  const open = () => openBrowser(auth)
  return { auth, emails, failures, notices, sent, userOf, open }
}

const { auth, emails, failures, notices, sent, userOf, open } = await createAuth()

const newAccount = () => ({
  name: 'Ada',
  email: `${crypto.randomUUID()}@example.com`,
  password: TEST_PASSWORD,
})
const signedIn = async (browser = open()) => {
  const { status, body } = await browser.call('signInAnonymous')
  expect(status).toBe('200')
  const { userId }: { userId: string } = body
  return { browser, userId }
}

async function enableTotp(browser: AppBrowser): Promise<void> {
  const { secret } = (await browser.call('enableTotp')).body
  expect((await browser.call('confirmTotp', { code: totpCode(secret, auth) })).status).toBe('200')
}

describe('signing in', () => {
  test('creates a user who is marked, and a session that proves no method', async () => {
    const { browser, userId } = await signedIn()
    const { session, user } = (await browser.call('getSession')).body
    expect(user).toMatchObject({ id: userId, isAnonymous: true, emailVerified: false, role: 'user' })
    expect(user.email).toBe(`${userId}@anonymous.invalid`)
    expect(session.amr).toEqual([])
    const types = (await readAudit(auth, userId)).map(({ type }) => type)
    expect(types).toEqual(['user.created', 'session.created'])
  })

  test('of a browser that is signed in is rejected, and keeps its session', async () => {
    const { browser, userId } = await signedIn()
    expect((await browser.call('signInAnonymous')).status).toBe('409 ALREADY_SIGNED_IN')
    expect((await browser.call('getSession')).body.user.id).toBe(userId)
  })

  test.each([
    ['was revoked', (userId: string) => auth.db.deleteFrom('session').where('userId', '=', userId).execute()],
    ['has expired', async () => auth.clock.advance(31 * 24 * 3_600)],
  ])('works in a browser whose session %s', async (_name, end) => {
    const { browser, userId } = await signedIn()
    await end(userId)
    expect((await signedIn(browser)).userId).not.toBe(userId)
  })

  test('works for a program with the session header', async () => {
    const program = openBrowser(auth, { headers: { 'x-sallyport-session': 'none' } })
    const { body } = await program.call('signInAnonymous')
    expect(body).toMatchObject({ token: expect.any(String), sessionToken: expect.any(String) })
  })

  test('is limited per address', async () => {
    const limited = await createTestAuth({
      plugins: [anonymous({ limits: { address: { points: 2, duration: 60 } } })],
    })
    const statuses = []
    for (let attempt = 0; attempt < 3; attempt++)
      statuses.push((await openBrowser(limited).call('signInAnonymous')).status)
    expect(statuses).toEqual(['200', '200', '429 RATE_LIMITED'])
    expect((await openBrowser(limited, { address: '192.0.2.1' }).call('signInAnonymous')).status).toBe('200')
    await limited.close()
  })

  test('leaves the users of other plugins unmarked', async () => {
    const { userId } = await auth.createUser()
    expect((await userOf(userId))?.isAnonymous).toBe(0)
  })
})

describe('upgrading', () => {
  test('keeps the user, replaces the credentials, and lets them sign in elsewhere', async () => {
    const { browser, userId } = await signedIn()
    const copy = open()
    copy.cookie = browser.cookie
    const ada = newAccount()
    const { status, body } = await browser.call('upgradeAnonymous', ada)
    expect({ status, userId: body.userId }).toEqual({ status: '200', userId })
    const { session, user } = (await browser.call('getSession')).body
    expect(user).toMatchObject({ id: userId, name: 'Ada', email: ada.email, isAnonymous: false })
    expect(session.amr).toEqual(['pwd'])
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
    expect((await open().signIn(ada.email)).body).toMatchObject({ userId })
    await sent('new-sign-in', ada.email)
    expect(await readAudit(auth, userId)).toContainEqual(
      expect.objectContaining({ type: 'anonymous:upgraded' }),
    )
  })

  test('sends the verification email', async () => {
    const { browser, userId } = await signedIn()
    const ada = newAccount()
    await browser.call('upgradeAnonymous', ada)
    const link = await sent('verify-email', ada.email)
    const input = { token: 'token' in link ? link.token : '', password: ada.password }
    expect((await open().call('verifyEmail', input)).status).toBe('200')
    expect((await userOf(userId))?.emailVerified).toBe(1)
  })

  test.each([
    ['a taken email', async () => ({ email: (await auth.createUser()).email }), '409 EMAIL_TAKEN'],
    ['a common password', () => ({ password: 'password' }), '400 PASSWORD_TOO_COMMON'],
    ['a short password', () => ({ password: 'short' }), '400 INVALID_INPUT'],
    ['a link as the name', () => ({ name: 'www.example.com' }), '400 INVALID_INPUT'],
  ])('with %s is rejected, and changes nothing', async (_name, change, status) => {
    const { browser } = await signedIn()
    const input = { ...newAccount(), ...(await change()) }
    const before = await stored(auth)
    expect((await browser.call('upgradeAnonymous', input)).status).toBe(status)
    expect(await stored(auth)).toEqual(before)
  })

  test('is rejected for a user with an account', async () => {
    const { browser } = await signedIn()
    await browser.call('upgradeAnonymous', newAccount())
    const before = await stored(auth)
    expect((await browser.call('upgradeAnonymous', newAccount())).status).toBe('409 NOT_ANONYMOUS')
    expect(await stored(auth)).toEqual(before)
  })

  test('twice at once succeeds once', async () => {
    const { browser } = await signedIn()
    const twin = open()
    twin.cookie = browser.cookie
    const replies = await Promise.all(
      [browser, twin].map((each) => each.call('upgradeAnonymous', newAccount())),
    )
    expect(replies.filter(({ status }) => status === '200')).toHaveLength(1)
  })

  test('needs the session cookie, which a copy of a JWT lacks', async () => {
    const { browser } = await signedIn()
    const copy = open()
    copy.cookie = browser.cookie
      .split('; ')
      .filter((cookie) => !cookie.startsWith('service.session='))
      .join('; ')
    const reply = await copy.call('upgradeAnonymous', newAccount())
    expect(reply.status).toBe('400 SESSION_SECRET_REQUIRED')
  })

  test('works long after the sign-in', async () => {
    const { browser } = await signedIn()
    auth.clock.advance(14 * 60)
    await browser.call('token')
    auth.clock.advance(14 * 60)
    await browser.call('token')
    expect((await browser.call('upgradeAnonymous', newAccount())).status).toBe('200')
  })

  test('without the password plugin is unavailable, and with another plugin a configuration error', async () => {
    const without = await createTestAuth({ plugins: [anonymous()] })
    const browser = openBrowser(without)
    await browser.call('signInAnonymous')
    const reply = await browser.call('upgradeAnonymous', newAccount())
    expect(reply.status).toBe('501 UPGRADE_UNAVAILABLE')
    await without.close()
    expect(() => anonymous({ password: admin() })).toThrow(ConfigurationError)
  })

  test('by a new email ends it too', async () => {
    const { browser, userId } = await signedIn()
    const { email } = newAccount()
    await browser.call('changeEmail', { newEmail: email })
    const link = await sent('change-email', email)
    await browser.call('verifyEmail', { token: 'token' in link ? link.token : '' })
    expect((await userOf(userId))?.isAnonymous).toBe(0)
  })

  test('by a passkey ends it too', async () => {
    const { browser, userId } = await signedIn()
    const response = new Authenticator().create((await browser.call('createPasskeyOptions')).body)
    expect((await browser.call('addPasskey', { response, name: 'Laptop' })).status).toBe('200')
    expect((await userOf(userId))?.isAnonymous).toBe(0)
  })

  test('is still possible with an authenticator app, which signs no one in', async () => {
    const { browser, userId } = await signedIn()
    await enableTotp(browser)
    expect((await userOf(userId))?.isAnonymous).toBe(1)
    expect((await browser.call('upgradeAnonymous', newAccount())).status).toBe('200')
  })
})

describe('reauthenticating', () => {
  const stale = async () => {
    const { browser, userId } = await signedIn()
    auth.clock.advance(14 * 60)
    await browser.call('token')
    auth.clock.advance(120)
    await browser.call('token')
    return { browser, userId }
  }

  test('makes the session fresh, proves no method, and replaces the credentials', async () => {
    const { browser } = await stale()
    const copy = open()
    copy.cookie = browser.cookie
    expect((await browser.call('enableTotp')).status).toBe('403 SESSION_NOT_FRESH')
    expect((await browser.call('reauthenticateAnonymous')).status).toBe('200')
    expect((await browser.call('enableTotp')).status).toBe('200')
    expect((await browser.call('getSession')).body.session.amr).toEqual([])
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
  })

  test('is rejected for a user with an account, whose password would prove more', async () => {
    const { browser } = await stale()
    await browser.call('upgradeAnonymous', newAccount())
    expect((await browser.call('reauthenticateAnonymous')).status).toBe('409 NOT_ANONYMOUS')
  })

  test('needs the session cookie', async () => {
    const { browser } = await stale()
    const copy = open()
    copy.cookie = browser.cookie
      .split('; ')
      .filter((cookie) => !cookie.startsWith('service.session='))
      .join('; ')
    expect((await copy.call('reauthenticateAnonymous')).status).toBe('400 SESSION_SECRET_REQUIRED')
  })
})

describe('upgrading with requireVerified', async () => {
  const strict = await createAuth({ requireVerified: true })

  test('gives the user the email once they have opened its link', async () => {
    const { browser, userId } = await signedIn(strict.open())
    const ada = newAccount()
    expect((await browser.call('upgradeAnonymous', ada)).status).toBe('200')
    expect((await strict.open().signIn(ada.email)).status).toBe('401 INVALID_CREDENTIALS')
    const link = await strict.sent('change-email', ada.email)
    await browser.call('verifyEmail', { token: 'token' in link ? link.token : '' })
    expect((await strict.open().signIn(ada.email)).body).toMatchObject({ userId })
    await strict.sent('new-sign-in', ada.email)
  })

  test('keeps the user anonymous until then. With the password, they can correct the email', async () => {
    const { browser } = await signedIn(strict.open())
    const session = async () => (await browser.call('getSession')).body
    const [mistyped, ada] = [newAccount(), newAccount()]
    const { password } = mistyped
    const calls = [
      ['upgradeAnonymous', mistyped],
      ['changePassword', { currentPassword: password, newPassword: `${password} again` }],
      ['changeEmail', { newEmail: ada.email }],
    ] as const
    for (const [name, input] of calls) {
      expect(await browser.call(name, input)).toMatchObject({ status: '200' })
      expect(await session()).toMatchObject({ user: { isAnonymous: true, emailVerified: false } })
    }
    const [first, second] = [
      await strict.sent('change-email', mistyped.email),
      await strict.sent('change-email', ada.email),
    ].map((email) => ({ token: 'token' in email ? email.token : '' }))
    expect((await browser.call('verifyEmail', first)).status).toBe('400 LINK_INVALID')
    expect((await browser.call('verifyEmail', second)).status).toBe('200')
    expect(await session()).toMatchObject({ user: { isAnonymous: false, email: ada.email } })
  })

  test('keeps a passkey until then: the password signs no one in', async () => {
    const { browser } = await signedIn(strict.open())
    const { userId } = (await browser.call('upgradeAnonymous', newAccount())).body
    const laptop = new Authenticator()
    const { body } = await browser.call('createPasskeyOptions')
    await browser.call('addPasskey', { response: laptop.create(body), name: 'Laptop' })
    const remove = async () => (await browser.call('removePasskey', { id: laptop.id })).status
    expect(await remove()).toBe('409 LAST_WAY_IN')
    const verified = strict.auth.db.updateTable('user').set({ emailVerified: true })
    await verified.where('id', '=', userId).execute()
    expect(await remove()).toBe('200')
  })

  test('needs the password for a fresh session, and for another email', async () => {
    const { browser } = await signedIn(strict.open())
    await browser.call('upgradeAnonymous', newAccount())
    expect((await browser.call('upgradeAnonymous', newAccount())).status).toBe('409 NOT_ANONYMOUS')
    strict.auth.clock.advance(16 * 60)
    await browser.call('token')
    expect((await browser.call('reauthenticateAnonymous')).status).toBe('409 NOT_ANONYMOUS')
    expect((await browser.call('changeEmail', { newEmail: newAccount().email })).status).toBe(
      '403 SESSION_NOT_FRESH',
    )
  })

  test('responds to a taken email as to a new one, and sends its owner a notice', async () => {
    const { browser } = await signedIn(strict.open())
    const { email } = await strict.auth.createUser()
    const { status, body } = await browser.call('upgradeAnonymous', { ...newAccount(), email })
    const other = await signedIn(strict.open())
    const free = newAccount()
    const reply = await other.browser.call('upgradeAnonymous', free)
    expect({ status, members: Object.keys(body) }).toEqual({
      status: reply.status,
      members: Object.keys(reply.body),
    })
    await strict.sent('sign-up-taken', email)
    await strict.sent('change-email', free.email)
    expect(strict.emails).not.toContainEqual(expect.objectContaining({ kind: 'change-email', to: email }))
  })
})

describe('pruning', () => {
  const month = 30 * 24 * 3_600
  /** Deletes old users, which a sign-in does at most once a minute. */
  const prune = () => signedIn()
  beforeEach(() => {
    const { consume } = auth.database.limits
    const limits = vi.spyOn(auth.database.limits, 'consume')
    limits.mockImplementation(async (key, limit) => (key === 'anonymous:prune' ? null : consume(key, limit)))
    onTestFinished(() => limits.mockRestore())
  })

  test('deletes users without a session after 30 days, and records it', async () => {
    const { userId } = await signedIn()
    auth.clock.advance(month + 1)
    await prune()
    await eventually(async () => expect(await userOf(userId)).toBeUndefined())
    expect(await readAudit(auth, userId)).toContainEqual(expect.objectContaining({ type: 'user.deleted' }))
  })

  test('keeps users with a session or a way to sign in, younger ones, and all others', async () => {
    const active = await signedIn()
    const upgraded = await signedIn()
    await upgraded.browser.call('upgradeAnonymous', newAccount())
    // A plugin may store other ways to sign in than passwords.
    const other = await auth.createUser()
    await auth.db.deleteFrom('account').where('userId', '=', other.userId).execute()
    const linked = await signedIn()
    const account = { id: crypto.randomUUID(), userId: linked.userId, accountId: '1', providerId: 'github' }
    const times = { createdAt: auth.clock.now(), updatedAt: auth.clock.now() }
    await auth.db
      .insertInto('account')
      .values({ ...account, ...times, password: null })
      .execute()
    const changedByHand = await signedIn()
    const gone = await signedIn()
    auth.clock.advance(month - 60)
    const young = await signedIn()
    await young.browser.call('signOut')
    await active.browser.call('token')
    auth.clock.advance(120)
    const soon = new Date(auth.clock.now().getTime() + 60_000).toISOString().slice(0, 19).replace('T', ' ')
    const ofUser = auth.db.updateTable('session').where('userId', '=', changedByHand.userId)
    await ofUser.set({ expiresAt: sql`${soon}` }).execute()
    await prune()
    await eventually(async () => expect(await userOf(gone.userId)).toBeUndefined())
    for (const { userId } of [active, changedByHand, upgraded, other, linked, young])
      expect(await userOf(userId)).toBeDefined()
  })

  test('keeps users whose sessions expire only by a clock that is ahead of the clock of the database', async () => {
    const gone = await signedIn()
    auth.clock.advance(month + 1)
    const { userId } = await signedIn()
    const aheadSeconds = 2 * month
    auth.clock.advance(aheadSeconds)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadSeconds * 1000 })
    onTestFinished(() => void vi.useRealTimers())
    await prune()
    await eventually(async () => expect(await userOf(gone.userId)).toBeUndefined())
    expect(await userOf(userId)).toBeDefined()
  })

  test('goes on after users whose deletion fails, and reports why', async () => {
    const { userId: memberId } = await auth.createUser()
    const owners: string[] = []
    for (let count = 0; count < 100; count++) {
      const { userId } = await signedIn()
      await insertOrganization(auth, { [userId]: 'owner', [memberId]: 'member' })
      owners.push(userId)
    }
    await auth.db.schema
      .createTable('note')
      .addColumn('userId', 'text', (column) => column.references('user.id'))
      .execute()
    const writer = await signedIn()
    await sql`insert into note values (${writer.userId})`.execute(auth.db)
    auth.clock.advance(1)
    const gone = await signedIn()
    auth.clock.advance(month)
    await prune()
    await eventually(async () => expect(await userOf(gone.userId)).toBeUndefined())
    for (const userId of [...owners, writer.userId]) expect(await userOf(userId)).toBeDefined()
    await eventually(() =>
      expect(failures).toMatchObject([{ message: expect.stringContaining('FOREIGN KEY') }]),
    )
    await auth.db.schema.dropTable('note').execute()
  })
})

test('no email goes to the address of an anonymous user', async () => {
  const { browser, userId } = await signedIn()
  expect((await browser.call('sendVerificationEmail')).status).toBe('200')
  await open().call('requestPasswordReset', { email: `${userId}@anonymous.invalid` })
  await open().call('requestEmailCode', { email: `${userId}@anonymous.invalid` })
  await enableTotp(browser)
  const response = new Authenticator().create((await browser.call('createPasskeyOptions')).body)
  expect((await browser.call('addPasskey', { response, name: 'Laptop' })).status).toBe('200')
  await eventually(async () =>
    expect((await readAudit(auth, userId)).map(({ type }) => type)).toContain('recovery.requested'),
  )
  // A later notice comes after those that were due.
  const other = open()
  await other.signIn((await auth.createUser()).email)
  await enableTotp(other)
  await eventually(() => expect(notices).toMatchObject([{ kind: 'totp-enabled' }]))
  expect(emails.filter(({ to }) => to.endsWith('.invalid'))).toEqual([])
})
