import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { readAudit } from '../../support/read-audit.ts'
import { createAuthWithCodes } from './auth-with-codes.ts'

const { auth, emails, codeSentTo, open } = await createAuthWithCodes({
  limits: {
    address: { points: 12, duration: 3_600 },
    email: { points: 2, duration: 3_600 },
    mailbox: { points: 4, duration: 3_600 },
  },
})

let addresses = 0
/** Opens a browser on a network that no other test uses. */
const openElsewhere = () => open({ address: `198.51.100.${++addresses}` })

const ask = (email: string, browser = openElsewhere()) => browser.call('requestEmailCode', { email })
const countTo = (to: string) => emails.filter((email) => email.to === to).length
/** Waits until the emails of earlier requests were sent. */
const settle = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

test('requests from one network send two emails to an address, and then none without saying so', async () => {
  const { email } = await auth.createUser()
  const browser = openElsewhere()
  for (let request = 0; request < 4; request++) {
    const { status, body } = await ask(email, browser)
    expect({ status, body }).toEqual({ status: '200', body: { success: true, expiresIn: 600 } })
  }
  await eventually(() => expect(countTo(email)).toBe(2))
  await settle()
  expect(countTo(email)).toBe(2)
})

test('requests from all networks send four emails to an address', async () => {
  const { email } = await auth.createUser()
  for (let request = 0; request < 6; request++) await ask(email)
  await eventually(() => expect(countTo(email)).toBe(4))
  await settle()
  expect(countTo(email)).toBe(4)
})

test('a request whose email was not sent has no code that could be guessed', async () => {
  const { email } = await auth.createUser()
  const rows = auth.db.$extendTables<{ emailCode: { email: string; code: string } }>()
  const browser = openElsewhere()
  for (let request = 0; request < 3; request++) await ask(email, browser)
  const codes = await rows.selectFrom('emailCode').select('code').where('email', '=', email).execute()
  expect(codes.map(({ code }) => code === '').sort()).toEqual([false, false, true])
})

test('every request is recorded, also without an email, but not one over the limit of its address', async () => {
  const { userId, email } = await auth.createUser()
  const browser = openElsewhere()
  const replies: string[] = []
  for (let request = 0; request < 13; request++) replies.push((await ask(email, browser)).status)
  expect(replies).toEqual([...Array(12).fill('200'), '429 RATE_LIMITED'])
  const types = (await readAudit(auth, userId)).map(({ type }) => type)
  expect(types.filter((type) => type === 'email-code:requested')).toHaveLength(12)
})

test('a browser that has signed in by code gets emails after strangers have used up the limit', async () => {
  const { email } = await auth.createUser()
  const browser = openElsewhere()
  await ask(email, browser)
  await browser.call('signInEmailCode', { code: (await codeSentTo(email)).code })
  for (let request = 0; request < 6; request++) await ask(email)
  await settle()
  emails.length = 0
  await ask(email, browser)
  await eventually(() => expect(countTo(email)).toBe(1))
  const { code } = await codeSentTo(email)
  expect((await browser.call('signInEmailCode', { code })).status).toBe('200')
})

test('a known browser without emails left counts like a stranger, and gets 429', async () => {
  const { email } = await auth.createUser()
  const browser = openElsewhere()
  await browser.signIn(email)
  const statuses: string[] = []
  for (let request = 0; request < 15; request++) statuses.push((await ask(email, browser)).status)
  expect(statuses).toEqual([...Array(14).fill('200'), '429 RATE_LIMITED'])
})

test('a browser that another user has signed in with is a stranger', async () => {
  const [own, other] = [await auth.createUser(), await auth.createUser()]
  const browser = openElsewhere()
  await ask(own.email, browser)
  await browser.call('signInEmailCode', { code: (await codeSentTo(own.email)).code })
  for (let request = 0; request < 4; request++) await ask(other.email)
  await settle()
  emails.length = 0
  await ask(other.email, browser)
  await settle()
  expect(countTo(other.email)).toBe(0)
})

test('a network gets 429 after as many requests and codes as its limit', async () => {
  const browser = openElsewhere()
  const newEmail = () => `${crypto.randomUUID()}@example.com`
  for (let request = 0; request < 6; request++) expect((await ask(newEmail(), browser)).status).toBe('200')
  for (let attempt = 0; attempt < 6; attempt++)
    expect((await browser.call('signInEmailCode', { code: 'BBBBBBBB' })).status).toBe(
      '400 EMAIL_CODE_INVALID',
    )
  expect((await browser.call('signInEmailCode', { code: 'BBBBBBBB' })).status).toBe('429 RATE_LIMITED')
  expect((await ask(newEmail(), browser)).status).toBe('429 RATE_LIMITED')
})

test('sign-ins and confirmations that succeed do not use up the limit of their network', async () => {
  const network = { address: '203.0.113.80' }
  const [{ email }, browser] = [await auth.createUser(), open(network)]
  await auth.db.updateTable('user').set({ emailVerified: true }).where('email', '=', email).execute()
  for (const endpoint of ['signInEmailCode', 'reauthenticateEmailCode'] as const) {
    expect((await ask(email, browser)).status).toBe('200')
    const { code } = await codeSentTo(email)
    expect((await browser.call(endpoint, { code })).status).toBe('200')
  }
  for (let user = 0; user < 8; user++) {
    const colleague = open(network)
    const { email } = await auth.createUser()
    expect((await ask(email, colleague)).status).toBe('200')
    const { code } = await codeSentTo(email)
    expect((await colleague.call('signInEmailCode', { code })).status).toBe('200')
  }
  const statuses: string[] = []
  for (let attempt = 0; attempt < 13; attempt++)
    statuses.push((await browser.call('signInEmailCode', { code: 'BBBBBBBB' })).status)
  expect(statuses).toEqual([...Array(12).fill('400 EMAIL_CODE_INVALID'), '429 RATE_LIMITED'])
})

test('a known browser that signs in without its cookie gives back only what it used', async () => {
  const network = { address: '203.0.113.81' }
  const [{ email }, browser] = [await auth.createUser(), open(network)]
  await browser.signIn(email)
  const wrongCode = async () => (await browser.call('signInEmailCode', { code: 'BBBBBBBB' })).status
  for (let attempt = 0; attempt < 11; attempt++) expect(await wrongCode()).toBe('400 EMAIL_CODE_INVALID')
  await ask(email, browser)
  const { code } = await codeSentTo(email)
  browser.cookie = browser.cookie.replace(/service\.device-email=[^;]*/, 'none=')
  expect((await browser.call('signInEmailCode', { code })).status).toBe('200')
  expect(await wrongCode()).toBe('400 EMAIL_CODE_INVALID')
  expect(await wrongCode()).toBe('429 RATE_LIMITED')
})

test('sign-ups use up the limit of their network', async () => {
  const address = { points: 4, duration: 3_600 }
  const own = await createAuthWithCodes({ signUp: true, limits: { address } })
  const newEmail = () => `${crypto.randomUUID()}@example.com`
  for (let user = 0; user < 2; user++) {
    const [email, browser] = [newEmail(), own.open()]
    await browser.call('requestEmailCode', { email })
    const { code } = await own.codeSentTo(email)
    expect((await browser.call('signInEmailCode', { code })).status).toBe('200')
  }
  expect((await own.open().call('requestEmailCode', { email: newEmail() })).status).toBe('429 RATE_LIMITED')
})
