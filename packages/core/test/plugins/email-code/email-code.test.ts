import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { dumpTables, rowsOf } from '../../support/dump-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { insertLink } from '../../support/insert-link.ts'
import { openBrowser } from '../../support/open-browser.ts'
import { readAudit } from '../../support/read-audit.ts'
import { cookieChanges, get, post } from '../../support/requests.ts'
import { createAuthWithCodes } from './auth-with-codes.ts'

const { auth, emails, sentTo, codeSentTo, open } = await createAuthWithCodes()

const createVerified = async () => {
  const user = await auth.createUser()
  await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', user.userId).execute()
  return user
}
const requested = async () => {
  const { userId, email } = await createVerified()
  const browser = open()
  const { body } = await browser.call('requestEmailCode', { email })
  return { userId, email, browser, body, ...(await codeSentTo(email)) }
}
const INVALID = '400 EMAIL_CODE_INVALID'
const LINK_INVALID = '400 EMAIL_LINK_INVALID'

describe('signing in', () => {
  test('by the code works once, and proves the method email', async () => {
    const { browser, code, userId } = await requested()
    expect(code).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
    const cookie = browser.cookie
    const { status, body } = await browser.call('signInEmailCode', { code })
    expect({ status, userId: body.userId }).toEqual({ status: '200', userId })
    expect((await browser.call('getSession')).body.session.amr).toEqual(['email'])
    browser.cookie = cookie
    expect((await browser.call('signInEmailCode', { code })).status).toBe(INVALID)
  })

  test('by the link works once, and then the code of the same email does not', async () => {
    const { browser, code, token } = await requested()
    const cookie = browser.cookie
    expect((await browser.call('signInEmailCode', { token })).status).toBe('200')
    browser.cookie = cookie
    expect((await browser.call('signInEmailCode', { token })).status).toBe(LINK_INVALID)
    expect((await browser.call('signInEmailCode', { code })).status).toBe(INVALID)
  })

  test.each([
    ['in lower case', (code: string) => code.toLowerCase()],
    ['without the dash', (code: string) => code.replace('-', '')],
    ['with spaces', (code: string) => ` ${code.replace('-', ' ')} `],
  ])('accepts the code %s', async (_name, typed) => {
    const { browser, code } = await requested()
    expect((await browser.call('signInEmailCode', { code: typed(code) })).status).toBe('200')
  })

  test('needs either a code or a token', async () => {
    const { browser, code, token } = await requested()
    for (const input of [{}, { code, token }])
      expect((await browser.call('signInEmailCode', input)).status).toBe('400 INVALID_INPUT')
  })

  test.each(['code', 'token'] as const)('is rejected in another browser with the %s alone', async (kind) => {
    const email = await requested()
    const input = { [kind]: email[kind] }
    const rejected = kind === 'code' ? INVALID : LINK_INVALID
    const elsewhere = open()
    const { status, body } = await elsewhere.call('signInEmailCode', input)
    expect(status).toBe(rejected)
    expect(JSON.stringify(body)).not.toContain(email.email)
    expect(elsewhere.cookie).toBe('')
    const other = await requested()
    expect((await other.browser.call('signInEmailCode', input)).status).toBe(rejected)
    expect((await email.browser.call('signInEmailCode', input)).status).toBe('200')
  })

  test('tells a user who opened the link elsewhere to type the code in the first browser', async () => {
    const { token } = await requested()
    const { body } = await open().call('signInEmailCode', { token })
    expect(body.message).toBe(
      'This link works once, in the browser that requested it. Type the code from the email there.',
    )
  })

  test('ignores a request token from a page, which could belong to an attacker', async () => {
    const attacker = openBrowser(auth, { headers: { 'x-sallyport-session': 'none' } })
    const { email } = await createVerified()
    const { body } = await attacker.call('requestEmailCode', { email })
    const { code } = await codeSentTo(email)
    const input = { code, requestToken: body.requestToken }
    expect((await open().call('signInEmailCode', input)).status).toBe(INVALID)
    expect((await attacker.call('signInEmailCode', input)).status).toBe('200')
  })

  test('is rejected ten minutes after the request', async () => {
    const first = await requested()
    auth.clock.advance(599)
    expect((await first.browser.call('signInEmailCode', { code: first.code })).status).toBe('200')
    const { browser, code, token } = await requested()
    auth.clock.advance(600)
    expect((await browser.call('signInEmailCode', { code })).status).toBe(INVALID)
    expect((await browser.call('signInEmailCode', { token })).status).toBe(LINK_INVALID)
  })

  test('is rejected after five wrong codes, which are recorded', async () => {
    const { browser, code, token, userId } = await requested()
    const wrong = code.startsWith('BBBB') ? 'CCCC-CCCC' : 'BBBB-BBBB'
    for (let attempt = 0; attempt < 5; attempt++)
      expect((await browser.call('signInEmailCode', { code: wrong })).status).toBe(INVALID)
    expect((await browser.call('signInEmailCode', { code })).status).toBe(INVALID)
    expect((await browser.call('signInEmailCode', { token })).status).toBe(LINK_INVALID)
    const failures = (await readAudit(auth, userId)).filter(({ type }) => type === 'sign-in.failed')
    expect(failures).toHaveLength(5)
    expect(failures[0]).toMatchObject({ reason: 'CODE_INVALID', address: '203.0.113.7' })
  })

  test('accepts one of two concurrent calls with the same code', async () => {
    const { browser, code } = await requested()
    const twin = open()
    twin.cookie = browser.cookie
    const replies = await Promise.all([browser, twin].map((each) => each.call('signInEmailCode', { code })))
    expect(replies.map(({ status }) => status).sort()).toEqual(['200', INVALID])
  })

  test('accepts only the newest code of a browser', async () => {
    const first = await requested()
    await first.browser.call('requestEmailCode', { email: first.email })
    const { code } = await codeSentTo(first.email)
    expect((await first.browser.call('signInEmailCode', { code: first.code })).status).toBe(INVALID)
    expect((await first.browser.call('signInEmailCode', { code })).status).toBe('200')
  })

  test('by a banned user is rejected, and uses up the code', async () => {
    const { browser, code, userId } = await requested()
    await auth.ban(await auth.signIn({ userId }))
    expect((await browser.call('signInEmailCode', { code })).status).toBe('403 ACCOUNT_BANNED')
    expect((await browser.call('signInEmailCode', { code })).status).toBe(INVALID)
  })

  test('makes the browser known for 180 days after its last sign-in', async () => {
    const { email } = await auth.createUser()
    const browser = open()
    const lastDay = async () => {
      await browser.signIn(email)
      const [row] = (await dumpTables(auth)).emailCodeBrowser ?? []
      return String(row?.expiresAt)
    }
    const inDays = (days: number) => new Date(auth.clock.now().getTime() + days * 86_400_000).toISOString()
    await auth.db.$extendTables<{ emailCodeBrowser: object }>().deleteFrom('emailCodeBrowser').execute()
    expect(await lastDay()).toBe(inDays(180))
    const { cookie } = browser
    auth.clock.advance(3_600)
    onTestFinished(() => auth.clock.advance(-3_600))
    expect(await lastDay()).toBe(inDays(180))
    const secret = /service\.device-email=[\w-]+/
    expect(secret.exec(browser.cookie)?.[0]).toBe(secret.exec(cookie)?.[0])
  })

  test('is rejected once the account has another address, or is gone', async () => {
    const moved = await requested()
    const newEmail = `${crypto.randomUUID()}@example.com`
    await auth.db.updateTable('user').set({ email: newEmail }).where('id', '=', moved.userId).execute()
    expect((await moved.browser.call('signInEmailCode', { code: moved.code })).status).toBe(INVALID)
    const gone = await requested()
    await auth.db.deleteFrom('user').where('id', '=', gone.userId).execute()
    expect((await gone.browser.call('signInEmailCode', { code: gone.code })).status).toBe(INVALID)
  })

  test('by a program with the session header needs the request token', async () => {
    const { email, userId } = await createVerified()
    const program = openBrowser(auth, { headers: { 'x-sallyport-session': 'none' } })
    const { body } = await program.call('requestEmailCode', { email })
    expect(program.cookie).toBe('')
    const { code } = await codeSentTo(email)
    expect((await program.call('signInEmailCode', { code })).status).toBe(INVALID)
    const signedIn = await program.call('signInEmailCode', { code, requestToken: body.requestToken })
    expect(signedIn.body).toMatchObject({ userId, sessionToken: expect.any(String) })
  })
})

test('a GET of a mail scanner changes nothing, with and without the cookies', async () => {
  const { browser, code } = await requested()
  for (const cookie of [browser.cookie, '']) {
    const response = await auth.handler(get(`${ENDPOINTS.signInEmailCode.path}?token=scanned`, { cookie }))
    expect(response.status).toBe(405)
  }
  expect((await browser.call('signInEmailCode', { code })).status).toBe('200')
})

describe('a request', () => {
  test('gets the same response with and without an account, and an email says so', async () => {
    const { email } = await createVerified()
    const unknown = `${crypto.randomUUID()}@example.com`
    const responses = await Promise.all(
      [email, unknown].map((to) => auth.handler(post(ENDPOINTS.requestEmailCode.path, { email: to }))),
    )
    for (const response of responses)
      expect(cookieChanges(response)).toEqual({ set: ['service.device-email-code'], cleared: [] })
    const headersOf = ({ headers }: Response) => [...headers].map(([name, value]) => [name, value.length])
    expect(new Set(responses.map((response) => JSON.stringify(headersOf(response)))).size).toBe(1)
    const bodies = await Promise.all(responses.map((response) => response.text()))
    expect(new Set(bodies)).toEqual(new Set(['{"success":true,"expiresIn":600}']))
    await eventually(() => expect(sentTo(unknown)).toEqual([{ kind: 'no-account', to: unknown }]))
    expect(await codeSentTo(email)).toMatchObject({ to: email, user: { email } })
  })

  test('writes as many rows with and without an account', async () => {
    const { email } = await createVerified()
    const db = auth.db.$extendTables<{ emailCode: { email: string } }>()
    const rows = async () => {
      const codes = await db.selectFrom('emailCode').select('email').execute()
      const audit = await db.selectFrom('sallyport.audit').select('id').execute()
      return { codes: codes.length, audit: audit.length }
    }
    const writtenFor = async (to: string) => {
      const before = await rows()
      await open().call('requestEmailCode', { email: to })
      const after = await rows()
      return { codes: after.codes - before.codes, audit: after.audit - before.audit }
    }
    expect(await writtenFor(email)).toEqual({ codes: 1, audit: 1 })
    expect(await writtenFor(`${crypto.randomUUID()}@example.com`)).toEqual({ codes: 1, audit: 1 })
  })

  test('is recorded, for an unknown address without a user and without the address', async () => {
    const records = () =>
      auth.db.selectFrom('sallyport.audit').selectAll().where('type', '=', 'email-code:requested').execute()
    const recordsOf = async (email: string) => {
      const before = await records()
      const browser = openBrowser(auth, { headers: { 'user-agent': 'Firefox' } })
      await browser.call('requestEmailCode', { email })
      return (await records()).slice(before.length)
    }
    const { userId, email } = await createVerified()
    const caller = { actorId: null, sessionId: null, actingSessionId: null, address: '203.0.113.7' }
    const record = { ...caller, userAgent: 'Firefox', detail: '{}' }
    expect(await recordsOf(email)).toMatchObject([{ ...record, userId }])
    const unknown = `${crypto.randomUUID()}@example.com`
    const recorded = await recordsOf(unknown)
    expect(recorded).toMatchObject([{ ...record, userId: null }])
    expect(JSON.stringify(recorded)).not.toContain(unknown)
  })

  test('stores neither the code, the token, nor the secret of the browser', async () => {
    const { browser, code, token } = await requested()
    const rows = await auth.db
      .$extendTables<{ emailCode: object }>()
      .selectFrom('emailCode')
      .selectAll()
      .execute()
    const secret = browser.cookie.split('=')[1] ?? ''
    for (const text of [code, code.replace('-', ''), token, secret])
      expect(JSON.stringify(rows)).not.toContain(text)
  })

  test('normalizes the address', async () => {
    const { email } = await createVerified()
    await open().call('requestEmailCode', { email: ` ${email.toUpperCase()} ` })
    expect((await codeSentTo(email)).to).toBe(email)
  })

  test('for an unknown address has no code that could be guessed', async () => {
    const browser = open()
    const email = `${crypto.randomUUID()}@example.com`
    await browser.call('requestEmailCode', { email })
    const rows = auth.db.$extendTables<{ emailCode: { email: string; code: string; token: string } }>()
    const row = rows.selectFrom('emailCode').select(['code', 'token']).where('email', '=', email)
    expect(await row.execute()).toEqual([{ code: '', token: '' }])
    expect((await browser.call('signInEmailCode', { code: 'BBBB-BBBB' })).status).toBe(INVALID)
  })
})

describe('the first code of an unverified account', () => {
  test('removes the password and ends the sessions of whoever registered the address', async () => {
    const { email, userId } = await auth.createUser()
    const attacker = open()
    await attacker.signIn(email)
    const owner = open()
    await owner.call('requestEmailCode', { email })
    const { code } = await codeSentTo(email)
    expect((await owner.call('signInEmailCode', { code })).status).toBe('200')
    expect((await attacker.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
    expect((await attacker.signIn(email)).status).toBe('401 INVALID_CREDENTIALS')
    for (const table of ['knownDevice', 'emailCodeBrowser'])
      expect((await dumpTables(auth))[table]?.filter((row) => row.userId === userId)).toHaveLength(1)
    expect((await owner.call('getSession')).body.user).toMatchObject({ id: userId, emailVerified: true })
    const types = (await readAudit(auth, userId)).map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(['user.verified', 'user.password-changed']))
    await eventually(() => expect(sentTo(email)).toMatchObject([{ kind: 'password-removed' }]))
  })

  test('voids a change of the email that an attacker has requested, even without a password', async () => {
    const { email, userId } = await auth.createUser()
    await auth.db.deleteFrom('account').where('userId', '=', userId).execute()
    const token = await insertLink(auth, { kind: 'change-email', userId, email: 'eve@example.com' })
    const owner = open()
    await owner.call('requestEmailCode', { email })
    await owner.call('signInEmailCode', { code: (await codeSentTo(email)).code })
    expect((await open().call('verifyEmail', { token })).status).toBe('400 LINK_INVALID')
  })

  test('of a banned user changes nothing, and is recorded', async () => {
    const { userId, email } = await auth.createUser()
    const browser = open()
    await browser.call('requestEmailCode', { email })
    const { code } = await codeSentTo(email)
    await auth.db.updateTable('user').set({ banned: true }).where('id', '=', userId).execute()
    const rows = async () => rowsOf(userId, await dumpTables(auth))
    const before = await rows()
    expect((await browser.call('signInEmailCode', { code })).status).toBe('403 ACCOUNT_BANNED')
    expect(await rows()).toEqual(before)
    const rejection = { type: 'sign-in.failed', reason: 'ACCOUNT_BANNED', address: '203.0.113.7' }
    expect((await readAudit(auth, userId)).at(-1)).toMatchObject(rejection)
  })

  test('leaves a verified account its password and its sessions', async () => {
    const { email } = await createVerified()
    const elsewhere = open()
    await elsewhere.signIn(email)
    const browser = open()
    await browser.call('requestEmailCode', { email })
    await browser.call('signInEmailCode', { code: (await codeSentTo(email)).code })
    expect((await elsewhere.call('getSession')).status).toBe('200')
    expect((await open().signIn(email)).status).toBe('200')
    expect(sentTo(email)).toEqual([])
  })
})

describe('reauthenticating', () => {
  const stale = async () => {
    const { email, userId } = await createVerified()
    const browser = open()
    await browser.signIn(email)
    auth.clock.advance(14 * 60)
    await browser.call('token')
    auth.clock.advance(120)
    await browser.call('token')
    expect((await browser.call('changeEmail', { newEmail: email })).status).toBe('403 SESSION_NOT_FRESH')
    await browser.call('requestEmailCode', { email })
    return { email, userId, browser, ...(await codeSentTo(email)) }
  }

  test('by code makes the session fresh, adds the method, and replaces its credentials', async () => {
    const { browser, code, userId } = await stale()
    expect((await browser.call('reauthenticateEmailCode', { code })).status).toBe('200')
    expect((await browser.call('getSession')).body.session.amr).toEqual(['pwd', 'email'])
    const changed = { type: 'session.version-changed', cause: 'reauthenticated', version: 2 }
    expect(await readAudit(auth, userId)).toContainEqual(expect.objectContaining(changed))
  })

  test("rejects a code that another user's address got", async () => {
    const { browser } = await stale()
    const other = await createVerified()
    await browser.call('requestEmailCode', { email: other.email })
    const { code } = await codeSentTo(other.email)
    expect((await browser.call('reauthenticateEmailCode', { code })).status).toBe(INVALID)
  })

  test('rejects a copy of a JWT without the session cookie, and the code stays valid', async () => {
    const { browser, code } = await stale()
    const copy = open()
    copy.cookie = browser.cookie
      .split('; ')
      .filter((cookie) => !cookie.startsWith('service.session='))
      .join('; ')
    expect((await copy.call('reauthenticateEmailCode', { code })).status).toBe('400 SESSION_SECRET_REQUIRED')
    expect((await browser.call('reauthenticateEmailCode', { code })).status).toBe('200')
  })
})

test('the emails of all tests had a link token of 256 bits', () => {
  for (const email of emails) if (email.kind === 'email-code') expect(email.token).toHaveLength(43)
})
