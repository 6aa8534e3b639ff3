import { join } from 'node:path'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
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

let auth: TestAuth
beforeAll(async () => {
  auth = await createTestAuth({ databaseUrl: join(temporaryDirectory(), 'app.db') })
  await auth.createUser({ email: 'known@example.com' })
})
afterAll(() => auth.close())

test('a wrong password and an unknown account are the same statements, one password of one cost and one record', async () => {
  const [known, unknown] = [await signIn('known@example.com'), await signIn('nobody@example.com')]
  expect(known.status).toBe(401)
  expect(known.statements).toContainEqual(expect.stringMatching(/insert into "audit"/))
  expect(known).toMatchObject({ records: 1, costs: [expect.stringMatching(/^\$argon2id\$/)] })
  expect(unknown).toEqual(known)
})

/** How a sign-in was answered, and what it made the server do. */
interface Work {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: string
  readonly statements: string[]
  /** What each password that was checked costs. */
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
  const rows = await auth.db.selectFrom('audit').select('id').where('type', '=', 'sign-in.failed').execute()
  return rows.length
}
