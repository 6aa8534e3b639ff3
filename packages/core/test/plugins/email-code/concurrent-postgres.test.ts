import { createAuth, defineAuth } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { anonymous } from '@sallyport/core/plugins/anonymous'
import { emailCode } from '@sallyport/core/plugins/email-code'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openPostgres } from '@sallyport/core/postgres'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'
import { createIssuer } from '../../support/create-issuer.ts'
import { eventually } from '../../support/eventually.ts'
import { type Browser, openBrowser } from '../../support/open-browser.ts'
import { PATIENT, PATIENT_SESSION, testPostgres } from '../../support/postgres.ts'

const MANY = { points: 1_000_000, duration: 60 }
const codes = new Map<string, string>()
const password = emailPassword({ usernames: true, limits: { address: MANY } })
const plugins = [
  password,
  anonymous({ password, limits: { address: MANY } }),
  emailCode({
    signUp: true,
    limits: { address: MANY, email: MANY, mailbox: MANY },
    async sendEmail(email) {
      if (email.kind === 'email-code') codes.set(email.to, email.code)
    },
  }),
] as const

const { config, signingKeys } = await createIssuer({ session: PATIENT_SESSION })
const definition = defineAuth({ config, signingKeys, plugins })
const server = await testPostgres()
const database = await openPostgres(await server.createDatabase('app'), {
  ...PATIENT,
  columns: columnsOf(definition),
})
const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
afterAll(database.close)

const ROUNDS = 5
const newEmail = () => `${crypto.randomUUID()}@example.com`
const newAccount = () => ({ name: 'Ada', email: newEmail(), password: TEST_PASSWORD })
const open = () => openBrowser(auth)
/** Opens browsers with the cookies of another. */
const copiesOf = ({ cookie }: Browser, count: number) =>
  Array.from({ length: count }, () => Object.assign(open(), { cookie }))
const sortedStatuses = async (replies: Promise<{ status: string }>[]) =>
  (await Promise.all(replies)).map(({ status }) => status).sort()

async function requestCode(browser: Browser, email: string): Promise<string> {
  codes.delete(email)
  await browser.call('requestEmailCode', { email })
  return eventually(() => {
    const code = codes.get(email)
    if (code === undefined) throw new Error(`No code came to ${email}`)
    return code
  })
}

test('one of several concurrent uses of a code succeeds', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const browser = open()
    const code = await requestCode(browser, newEmail())
    const uses = copiesOf(browser, 4).map((copy) => copy.call('signInEmailCode', { code }))
    expect(await sortedStatuses(uses)).toEqual(['200', ...Array(3).fill('400 EMAIL_CODE_INVALID')])
  }
})

test('concurrent codes for a new address create one account, whose password a sign-up cannot keep', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const account = newAccount()
    const browsers = [open(), open()]
    const [first, second] = browsers
    const signIns = []
    for (const browser of browsers) signIns.push({ browser, code: await requestCode(browser, account.email) })
    const statuses = await Promise.all([
      open().call('signUpEmail', account),
      ...signIns.map(({ browser, code }) => browser.call('signInEmailCode', { code })),
    ])
    expect(statuses.slice(1).map(({ status }) => status)).toEqual(['200', '200'])
    const ids = [first, second].map(async (browser) => (await browser?.call('getSession'))?.body.user.id)
    expect(new Set(await Promise.all(ids)).size).toBe(1)
    expect((await open().signIn(account.email)).status).toBe('401 INVALID_CREDENTIALS')
  }
})

test('concurrent choices of a username give it to one user', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const browsers = [open(), open(), open()]
    for (const browser of browsers) await browser.call('signUpEmail', newAccount())
    const username = `ada-${round}`
    const choices = browsers.map((browser) => browser.call('changeUsername', { username }))
    expect(await sortedStatuses(choices)).toEqual(['200', '409 USERNAME_TAKEN', '409 USERNAME_TAKEN'])
  }
})

test('concurrent sign-ups with a username create one account', async () => {
  const signUps = Array.from({ length: 3 }, () =>
    open().call('signUpEmail', { ...newAccount(), username: 'grace' }),
  )
  expect(await sortedStatuses(signUps)).toEqual(['200', '409 USERNAME_TAKEN', '409 USERNAME_TAKEN'])
})

test('concurrent upgrades to one email give it to one user', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const browsers = [open(), open()]
    for (const browser of browsers) await browser.call('signInAnonymous')
    const account = newAccount()
    const upgrades = browsers.map((browser) => browser.call('upgradeAnonymous', account))
    expect(await sortedStatuses(upgrades)).toEqual(['200', '409 EMAIL_TAKEN'])
  }
})
