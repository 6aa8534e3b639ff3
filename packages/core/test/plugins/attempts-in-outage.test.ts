import { type CodeEmail, emailCode } from '@sallyport/core/plugins/email-code'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startPostgresAuth } from '../support/postgres-auth.ts'
import { totpCode } from '../support/totp-code.ts'
import { Authenticator } from './passkeys/authenticator.ts'
import { openBrowser } from './passkeys/browser.ts'

const LIMIT = { points: 2, duration: 60 * 60 }
const OUTAGE = '503 SESSIONS_UNAVAILABLE'

const emails: CodeEmail[] = []
const auth = await startPostgresAuth({
  onFailure() {},
  // A statement that waits for a locked table fails at once.
  postgres: { lock_timeout: '20ms' },
  emailPassword: { limits: { account: LIMIT } },
  plugins: [
    totp({ issuer: 'Test', limits: { network: LIMIT } }),
    passkeys({ limits: { address: LIMIT } }),
    emailCode({
      limits: { email: LIMIT },
      sendEmail: async (email) => void (email.kind === 'email-code' && emails.push(email)),
    }),
  ],
})

let clients = 0
const open = () => openBrowser(auth, `198.51.100.${++clients}`)

const TABLES = sql`account, session, totp, "emailCode", "passkeyCredential", sallyport.audit`
const outages = [
  { failing: 'changes', mode: sql`exclusive` },
  { failing: 'reads and changes', mode: sql`access exclusive` },
]

/** Attempts can still be counted. */
const inOutage = (work: () => Promise<void>, { mode } = { mode: sql`exclusive` }) =>
  auth.db.transaction().execute(async (trx) => {
    await sql`lock table ${TABLES} in ${mode} mode`.execute(trx)
    await work()
  })

test.each(outages)('the right password does not use up the limit if $failing fail', async (outage) => {
  const { email } = await auth.createUser()
  const browser = open()
  await inOutage(async () => {
    for (let attempt = 0; attempt < 3; attempt++) expect((await browser.signIn(email)).status).toBe(OUTAGE)
  }, outage)
  expect((await browser.signIn(email)).status).toBe('200')
})

test('wrong passwords use up the limit', async () => {
  const { email } = await auth.createUser()
  const browser = open()
  await inOutage(async () => {
    for (let attempt = 0; attempt < 2; attempt++)
      expect((await browser.signIn(email, 'a wrong password')).status).toBe(OUTAGE)
  })
  expect((await browser.signIn(email)).status).toBe('429 RATE_LIMITED')
})

async function startTotp() {
  const { email } = await auth.createUser()
  const browser = open()
  await browser.signIn(email)
  const { secret } = (await browser.call('enableTotp')).body
  await browser.call('confirmTotp', { code: totpCode(secret, auth) })
  auth.clock.advance(30)
  const { challenge } = (await browser.signIn(email)).body
  const signIn = (code: string) => browser.call('signInTotp', { challenge: challenge.token, code })
  return { signIn, code: totpCode(secret, auth) }
}

test.each(outages)('the right code of an app does not use up the limit if $failing fail', async (outage) => {
  const { signIn, code } = await startTotp()
  await inOutage(async () => {
    for (let attempt = 0; attempt < 3; attempt++) expect((await signIn(code)).status).toBe(OUTAGE)
  }, outage)
  expect((await signIn(code)).status).toBe('200')
})

test.each(['of an app', 'for recovery'])('wrong codes %s use up the limit', async (kind) => {
  const { signIn, code } = await startTotp()
  const wrong = code === '000000' ? '000001' : '000000'
  await inOutage(async () => {
    for (let attempt = 0; attempt < 2; attempt++)
      expect((await signIn(kind === 'of an app' ? wrong : 'B'.repeat(24))).status).toBe(OUTAGE)
  })
  expect((await signIn(code)).status).toBe('429 RATE_LIMITED')
})

test.each(outages)('a passkey does not use up the limit if $failing fail', async (outage) => {
  const { email } = await auth.createUser()
  const browser = open()
  await browser.signIn(email)
  const laptop = new Authenticator()
  expect((await browser.addPasskey(laptop)).status).toBe('200')
  await inOutage(async () => {
    for (let attempt = 0; attempt < 3; attempt++)
      expect((await browser.signInPasskey(laptop)).status).toBe(OUTAGE)
  }, outage)
  expect((await browser.signInPasskey(laptop)).status).toBe('200')
})

test('wrong passkeys use up the limit', async () => {
  const browser = open()
  const signIn = async () => (await browser.signInPasskey(new Authenticator())).status
  await inOutage(async () => {
    for (let attempt = 0; attempt < 2; attempt++) expect(await signIn()).toBe(OUTAGE)
  })
  expect(await signIn()).toBe('429 RATE_LIMITED')
})

test('a code that could not be sent by email does not use up the limit', async () => {
  const { email } = await auth.createUser()
  const browser = open()
  await inOutage(async () => {
    for (let attempt = 0; attempt < 3; attempt++)
      expect((await browser.call('requestEmailCode', { email })).status).toBe(OUTAGE)
  })
  expect((await browser.call('requestEmailCode', { email })).status).toBe('200')
  await eventually(() => expect(emails.map(({ to }) => to)).toEqual([email]))
})
