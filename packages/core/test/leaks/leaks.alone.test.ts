import { execFile, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { cookiesAfter, post } from '../support/requests.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { isAllowed } from './allowed-leaks.ts'
import { type Leak, leakWatch } from './leak-watch.ts'

const links: string[] = []
const stillOpen: Database.Database[] = []
const auth = await createTestAuth({
  session: { rotateSessionToken: true },
  emailPassword: {
    sendEmail: async (email) => void ('token' in email && email.token !== null && links.push(email.token)),
  },
})
const elsewhere = createServer((request, response) => {
  const status = Number(request.headers['x-status'] ?? 200)
  const cookie = request.headers['x-cookie'] ?? ''
  response.writeHead(status, { 'set-cookie': `service.session=${cookie}; Path=/` })
  response.end(request.headers['x-body'])
})

await once(elsewhere.listen(0, '127.0.0.1'), 'listening')
const address = elsewhere.address()
const url = typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : ''
afterAll(async () => {
  elsewhere.close()
  elsewhere.closeAllConnections()
  await auth.close()
})
afterEach(() => {
  for (const database of stillOpen.splice(0)) database.close()
  forbidden()
})

/** Returns the leaks that the end of this file would report. */
function forbidden(): Leak[] {
  return leakWatch.takeLeaks().filter((leak) => !isAllowed(leak, import.meta.filename))
}

/** Ways to create secrets. */
const SECRETS: { issued: string; kind: Leak['secret']; issue: () => Promise<string> }[] = [
  {
    issued: 'the secret of a session',
    kind: 'random secret',
    issue: async () => (await auth.signIn()).sessionCookie,
  },
  { issued: 'a JWT', kind: 'JWT', issue: async () => (await auth.signIn()).token },
  {
    issued: 'the cookie of a device',
    kind: 'random secret',
    async issue() {
      const { email } = await auth.createUser()
      const response = await auth.handler(post('/sign-in/email', { email, password: TEST_PASSWORD }))
      return cookiesAfter('', response).replace(/.*service\.device=/, '')
    },
  },
  {
    issued: 'the token of a link',
    kind: 'random secret',
    async issue() {
      const { email } = await auth.createUser()
      await auth.handler(post('/request-password-reset', { email }))
      return eventually(() => links.pop() ?? expect.unreachable())
    },
  },
  {
    issued: 'a cookie that another server sets',
    kind: 'cookie',
    async issue() {
      const value = `id.${randomBytes(32).toString('base64url')}`
      await fetch(url, { headers: { 'x-cookie': value } })
      return value
    },
  },
  { issued: 'a private key', kind: 'private key', issue: async () => (await createSigningKey()).d },
  {
    issued: 'the password of an account',
    kind: 'password',
    async issue() {
      await auth.createUser({ password: 'nobody else has this one' })
      return 'nobody else has this one'
    },
  },
  {
    issued: 'a password that is rejected',
    kind: 'password',
    async issue() {
      const password = 'too long '.repeat(80)
      expect((await auth.handler(post('/sign-in/email', { email: 'a@b.com', password }))).status).toBe(400)
      return password
    },
  },
]

test.each(SECRETS)('registers $issued', async ({ kind, issue }) => {
  const secret = await issue()
  expect(forbidden()).toEqual([])
  Response.json({ message: `it is ${secret}` }, { status: 400 })
  expect(forbidden()).toEqual([{ place: 'error body', secret: kind, after: expect.any(String) }])
})

/** Ways for a text to become readable by others. */
const PLACES: { how: string; place: Leak['place']; write: (text: string) => unknown }[] = [
  { how: 'an error on the console', place: 'log', write: (text) => console.error('on purpose:', { text }) },
  { how: 'the output', place: 'log', write: (text) => process.stdout.write(`on purpose: ${text}\n`) },
  { how: 'the output of a command', place: 'log', write: (text) => promisify(execFile)('echo', [text]) },
  { how: 'the output of a child process', place: 'log', write: printInChild },
  {
    how: 'the body of a rejection',
    place: 'error body',
    write: (text) => Response.json({ text }, { status: 400 }),
  },
  {
    how: 'the response of a server',
    place: 'error body',
    write: (text) => fetch(url, { headers: { 'x-status': '500', 'x-body': text } }),
  },
  {
    how: 'an error of one call in a batch',
    place: 'error body',
    write: (text) => JSON.stringify([{ result: 1 }, { error: { message: text } }]),
  },
  {
    how: 'the URL of a request',
    place: 'URL',
    write: (text) => fetch(`${url}?${new URLSearchParams({ text })}`),
  },
  {
    how: 'the URL of a call to an endpoint',
    place: 'URL',
    write: (text) => auth.handler(new Request(`http://localhost:3000/api/auth/${encodeURIComponent(text)}`)),
  },
  { how: 'a database in memory', place: 'database', write: (text) => store(':memory:', text).close() },
  {
    how: 'a database that stays open',
    place: 'database',
    write: (text) => stillOpen.push(store(':memory:', text)),
  },
  {
    how: 'the write-ahead log of a file',
    place: 'database',
    write: (text) => store(join(temporaryDirectory(), 'leak.db'), text).close(),
  },
]

test.each(PLACES)('reads $how', async ({ place, write }) => {
  const { sessionCookie } = await auth.signIn()
  await write(sessionCookie)
  expect(forbidden()).toEqual([{ place, secret: 'random secret', after: expect.any(String) }])
})

test("a hash isn't a secret, and the family key may be stored", async () => {
  const { sessionId } = await auth.signIn()
  const session = auth.db.selectFrom('session').selectAll().where('id', '=', sessionId)
  const account = auth.db.selectFrom('account').selectAll()
  const { tokenFamily, ...row } = await session.executeTakeFirstOrThrow()
  Response.json({ row, account: await account.execute() }, { status: 400 })
  expect(forbidden()).toEqual([])
  Response.json({ tokenFamily }, { status: 400 })
  expect(forbidden()).toMatchObject([{ place: 'error body', secret: 'family key' }])
})

test.each([
  { place: 'log', secret: 'family key', after: '' },
  { place: 'log', secret: 'private key', after: '"d":"' },
  { place: 'URL', secret: 'JWT', after: '' },
] as const)('a $secret in a $place is a leak unless it is allowed', (leak) => {
  expect(isAllowed(leak, '/packages/core/test/any.test.ts')).toBe(false)
})

function store(path: string, text: string): Database.Database {
  const database = new Database(path)
  database.pragma('journal_mode = WAL')
  database.exec('create table leak (text)')
  database.prepare('insert into leak values (?)').run(text)
  return database
}

/** Hides what it prints from the test output. */
async function printInChild(text: string): Promise<void> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const child = fork(new URL('print.ts', import.meta.url), [text], { execArgv: [] })
  await once(child, 'close')
  write.mockRestore()
}
