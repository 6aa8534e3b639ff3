import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'
import { anonymous } from '@sallyport/core/plugins/anonymous'
import { emailCode } from '@sallyport/core/plugins/email-code'
import { emailPassword, type SendEmail } from '@sallyport/core/plugins/email-password'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Browser, openBrowser } from '../support/open-browser.ts'
import { post } from '../support/requests.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { totpCode } from '../support/totp-code.ts'

const statementsOfCall = new AsyncLocalStorage<string[]>()
const statement = Object.getPrototypeOf(new Database(':memory:').prepare('select 1'))
for (const name of ['all', 'run']) {
  const method = statement[name]
  statement[name] = function (this: Database.Statement, ...parameters: unknown[]) {
    statementsOfCall.getStore()?.push(this.source)
    return method.apply(this, parameters)
  }
}

const verified = vi.hoisted((): string[] => [])
const hashed = vi.hoisted(() => ({ count: 0 }))
vi.mock('@node-rs/argon2', async (importOriginal) => {
  const argon2 = await importOriginal<typeof import('@node-rs/argon2')>()
  const verify: typeof argon2.verify = (hash, password) => {
    verified.push(`${hash}`)
    return argon2.verify(hash, password)
  }
  const hash: typeof argon2.hash = (...args) => {
    hashed.count++
    return argon2.hash(...args)
  }
  return { ...argon2, hash, verify }
})

const sendEmail = vi.fn<SendEmail>(async () => {})
const auth = await createTestAuth({
  databaseUrl: join(temporaryDirectory(), 'app.db'),
  emailPassword: { sendEmail },
})
await auth.createUser({ email: 'known@example.com' })
afterAll(() => auth.close())

test('a wrong password and an unknown account cause the same statements, one password check of the same cost, and one record', async () => {
  const [known, unknown] = [await signIn('known@example.com'), await signIn('nobody@example.com')]
  expect(known.status).toBe(401)
  expect(known.statements).toContainEqual(expect.stringMatching(/insert into "sallyport_audit"/))
  expect(known).toMatchObject({ records: 1, costs: [expect.stringMatching(/^\$argon2id\$/)] })
  expect(unknown).toEqual(known)
})

test('a password reset causes the same statements with and without an account, within and over the budget', async () => {
  // Five are within budget.
  for (let i = 1; i <= 7; i++) {
    const known = await requestReset('known@example.com')
    await eventually(() => expect(sendEmail).toHaveBeenCalledTimes(Math.min(i, 5)))
    const unknown = await requestReset('nobody@example.com')
    await eventually(async () => expect(await countPretended()).toBe(Math.min(i, 5)))
    expect(known).toMatchObject({ status: 200, body: '{"success":true}' })
    expect(unknown).toEqual(known)
  }
})

describe('every other method', async () => {
  let emails = 0
  const countEmail = async () => void emails++
  const options = { requireVerified: true, usernames: true, sendEmail: countEmail }
  const other = await createTestAuth({
    databaseUrl: join(temporaryDirectory(), 'other.db'),
    emailPassword: options,
    plugins: [
      anonymous({ password: emailPassword(options) }),
      emailCode({ sendEmail: countEmail }),
      totp({ issuer: 'Test', sendEmail: async () => {} }),
    ],
  })
  afterAll(() => other.close())
  const open = () => openBrowser(other)

  /** Returns the email of a user who has everything that an attacker could look for. */
  async function createKnown(): Promise<{ email: string; username: string }> {
    const { userId, email } = await other.createUser()
    await other.db.updateTable('user').set({ emailVerified: true }).where('id', '=', userId).execute()
    const browser = open()
    await browser.signIn(email)
    const username = `ada${email.slice(0, 8)}`
    expect((await browser.call('changeUsername', { username })).status).toBe('200')
    const { secret } = (await browser.call('enableTotp')).body
    expect((await browser.call('confirmTotp', { code: totpCode(secret, other) })).status).toBe('200')
    return { email, username }
  }
  const known = await createKnown()
  const unknown = { email: 'nobody@example.com', username: 'nobody' }

  async function anonymousBrowser() {
    const browser = open()
    expect((await browser.call('signInAnonymous')).status).toBe('200')
    return browser
  }

  async function waitingForCode(email: string) {
    const browser = open()
    expect((await browser.call('requestEmailCode', { email })).status).toBe('200')
    return browser
  }

  interface Method {
    readonly method: string
    readonly attempt: (person: typeof known) => Promise<[Browser, ...Parameters<Browser['call']>]>
    /** Whether an email follows the response; perhaps only if the address has no account. */
    readonly sends?: 'always' | 'without account'
    /** For a method that writes its rows, or that they exist. */
    readonly comparesCommits?: boolean
  }

  const account = { name: 'Ada', password: TEST_PASSWORD }
  const methods: Method[] = [
    {
      method: 'a wrong password with a username, also of a user with a second factor',
      attempt: async ({ username }) => [
        open(),
        'signInEmail',
        { email: username, password: 'not the right one' },
      ],
    },
    {
      method: 'a request for a code',
      attempt: async ({ email }) => [open(), 'requestEmailCode', { email }],
      sends: 'always',
    },
    {
      method: 'a wrong code',
      attempt: async ({ email }) => [await waitingForCode(email), 'signInEmailCode', { code: 'BBBB-BBBB' }],
    },
    {
      method: 'an upgrade with requireVerified',
      attempt: async ({ email }) => [await anonymousBrowser(), 'upgradeAnonymous', { ...account, email }],
      sends: 'always',
    },
    {
      method: 'a change of the email',
      attempt: async ({ email }) => [await anonymousBrowser(), 'changeEmail', { newEmail: email }],
      sends: 'without account',
    },
    {
      method: 'a sign-up with requireVerified',
      attempt: async ({ email }) => [open(), 'signUpEmail', { ...account, email }],
      sends: 'always',
      comparesCommits: true,
    },
  ]

  /** Returns the response and the work before it. */
  async function workOf({ attempt, sends, comparesCommits = false }: Method, person: typeof known) {
    const [browser, name, input] = await attempt(person)
    const before = emails
    verified.length = 0
    hashed.count = 0
    const [{ status, body }, run] = await withStatements(() => browser.call(name, input))
    // Those of the work after the response follow.
    const statements = run.filter((sql) => !comparesCommits || sql === 'commit')
    // Plugins write at the same time, in any order.
    statements.sort()
    const costs = verified.map((hash) => hash.split('$').slice(0, 4).join('$'))
    const work = { statements, costs, hashes: hashed.count }
    if (sends === 'always' || (sends && person === unknown))
      await eventually(() => expect(emails).toBe(before + 1))
    // Tokens differ.
    return { status, code: body.code, members: Object.keys(body), ...work }
  }

  test.each(methods)('$method causes the same response and the same work', async (method) => {
    const [ofUnknown, ofKnown] = [await workOf(method, unknown), await workOf(method, known)]
    expect(ofUnknown.statements).not.toEqual([])
    expect(ofKnown).toEqual(ofUnknown)
  })
})

/** Returns the result of a call, and the SQL that it runs until then. Its work may continue. */
async function withStatements<Result>(call: () => Promise<Result>): Promise<[Result, string[]]> {
  const statements: string[] = []
  const result = await statementsOfCall.run(statements, call)
  return [result, [...statements]]
}

/** Counts the writes that replace links, for addresses without an account. */
async function countPretended(): Promise<number> {
  const rows = await auth.db
    .selectFrom('sallyport.rate_limit')
    .select('key')
    .where('key', 'like', 'placeholder:%')
    .execute()
  return rows.length
}

async function requestReset(
  email: string,
): Promise<Pick<Work, 'status' | 'headers' | 'body' | 'statements'>> {
  const [response, statements] = await withStatements(() =>
    auth.handler(post('/request-password-reset', { email })),
  )
  return { status: response.status, headers: [...response.headers], body: await response.text(), statements }
}

/** The response to a sign-in, and the work that it caused. */
interface Work {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: string
  readonly statements: string[]
  /** The cost of each password check. */
  readonly costs: string[]
  readonly records: number
}

async function signIn(email: string): Promise<Work> {
  verified.length = 0
  const before = await countRecords()
  const [response, statements] = await withStatements(() =>
    auth.handler(post('/sign-in/email', { email, password: 'not the right password' })),
  )
  return {
    status: response.status,
    headers: [...response.headers],
    body: await response.text(),
    statements,
    costs: verified.map((hash) => hash.split('$').slice(0, 4).join('$')),
    records: (await countRecords()) - before,
  }
}

async function countRecords(): Promise<number> {
  const rows = await auth.db
    .selectFrom('sallyport.audit')
    .select('id')
    .where('type', '=', 'sign-in.failed')
    .execute()
  return rows.length
}
