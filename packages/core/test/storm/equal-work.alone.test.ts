import { join } from 'node:path'
import type { SendEmail } from '@sallyport/core/plugins/email-password'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { post } from '../support/requests.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const verified = vi.hoisted((): string[] => [])
vi.mock('@node-rs/argon2', async (importOriginal) => {
  const argon2 = await importOriginal<typeof import('@node-rs/argon2')>()
  const verify: typeof argon2.verify = (hash, password) => {
    verified.push(`${hash}`)
    return argon2.verify(hash, password)
  }
  return { ...argon2, verify }
})

const sendEmail = vi.fn<SendEmail>(async () => {})
let auth: TestAuth
beforeAll(async () => {
  auth = await createTestAuth({
    databaseUrl: join(temporaryDirectory(), 'app.db'),
    emailPassword: { sendEmail },
  })
  await auth.createUser({ email: 'known@example.com' })
})
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
  const prepare = vi.spyOn(Database.prototype, 'prepare')
  const response = await auth.handler(post('/request-password-reset', { email }))
  const statements = prepare.mock.calls.map(([sql]) => sql)
  prepare.mockRestore()
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
  const prepare = vi.spyOn(Database.prototype, 'prepare')
  const response = await auth.handler(post('/sign-in/email', { email, password: 'not the right password' }))
  const statements = prepare.mock.calls.map(([sql]) => sql)
  prepare.mockRestore()
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
