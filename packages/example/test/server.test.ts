import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTRPCClient, httpBatchLink, type TRPCClient } from '@trpc/client'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createBearerClient } from '../src/clients/bearer-client.ts'
import { createSseClient } from '../src/clients/sse-client.ts'
import type { AppRouter } from '../src/routers/app.ts'
import { type Example, spawnExample, startExample, untilSaid } from './start-example.ts'

let example: Example
beforeAll(async () => {
  example = await startExample()
})
afterAll(async () => {
  example.process.kill('SIGKILL')
  await example.exit
})

test.each([
  ['server.ts', 'PORT'],
  ['edge.ts', 'EDGE_PORT'],
] as const)('%s says what to do if its port is in use', async (entry, variable) => {
  const { port } = new URL(example.url)
  const { exit, output } = await spawnExample({ [variable]: port }, { entry })
  expect(await exit).toBe(1)
  const advice = `Port ${port} is in use. Stop the process that uses it, or set ${variable} to another port.\n`
  // Before a build, the server also warns about its missing files.
  expect(output().replace(/^serveStatic: .*\n/, '')).toBe(advice)
})

interface SignedIn {
  readonly cookie: string
  readonly client: TRPCClient<AppRouter>
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${example.url}/api/auth${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sallyport': '1', ...headers },
    body: JSON.stringify(body),
  })
}

/** The device cookies. The server limits the sign-ins of a known device separately. */
const deviceCookies = new Map<string, string>()

async function signIn(name: 'ada' | 'grace'): Promise<SignedIn> {
  const password = 'correct horse battery staple'
  const device = { cookie: deviceCookies.get(name) ?? '' }
  const answer = await post('/sign-in/email', { email: `${name}@example.com`, password }, device)
  expect(answer.status).toBe(200)
  const newDevice = cookiesOf(answer).find((pair) => pair.startsWith('service.device='))
  if (newDevice !== undefined) deviceCookies.set(name, newDevice)
  return withCookies(answer)
}

function cookiesOf(response: Response): string[] {
  return response.headers.getSetCookie().map((header) => header.split(';')[0] ?? '')
}

/** Creates a browser with the cookies of a response. */
function withCookies(response: Response): SignedIn {
  const cookie = cookiesOf(response).join('; ')
  const link = httpBatchLink({ url: `${example.url}/trpc`, headers: { cookie, 'x-sallyport': '1' } })
  return { cookie, client: createTRPCClient<AppRouter>({ links: [link] }) }
}

/** Subscribes over WebSocket. Returns the values, and then the error or the end. */
function subscribe({ cookie }: SignedIn, path: string, input: object) {
  const socket = new WebSocket(`${example.url.replace('http', 'ws')}/trpc`, {
    headers: { cookie, origin: example.url },
  })
  const params = { path, input }
  socket.on('open', () => socket.send(JSON.stringify({ id: 1, method: 'subscription', params })))
  const values: unknown[] = []
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const { promise: first, resolve: begin } = Promise.withResolvers<unknown>()
  const { promise: closed, resolve: end } = Promise.withResolvers<unknown>()
  socket.on('message', (text) => {
    const { result, error } = JSON.parse(String(text))
    if (result?.type === 'started') start()
    if (result?.data !== undefined) {
      values.push(result.data)
      begin(result.data)
    }
    if (error !== undefined || result?.type === 'stopped') end(error ?? 'stopped')
  })
  return { socket, values, started, first, closed }
}

const subscribeClock = (user: SignedIn) => subscribe(user, 'clock', { intervalMs: 10 })

const report = ({ client }: SignedIn) =>
  client.report.generate.mutate({ id: crypto.randomUUID(), title: 'Sales' })

const rejected = (code: string, reason: string | null) => ({
  data: { code, auth: reason === null ? null : { reason } },
})

describe('the example', () => {
  test('is healthy', async () => {
    const answer = await fetch(`${example.url}/healthz`)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({
      ok: true,
      read: 'ok',
      write: 'ok',
      feed: 'ok',
      keys: 'ok',
      clock: 'ok',
    })
  })

  test('its keys and its database are readable only by its user', () => {
    const modeOf = (file: string) => statSync(join(example.folder, file)).mode & 0o777
    expect(modeOf('keys/keys.json')).toBe(0o600)
    expect(modeOf('example.db')).toBe(0o600)
  })

  test('listens only on this machine', async () => {
    const { port } = new URL(example.url)
    await expect(fetch(`http://127.0.0.2:${port}/healthz`)).rejects.toThrow('fetch failed')
    expect(example.output()).toContain(`PORT=${port} BASE_URL=${example.url} npx -y pnpm start:edge`)
  })

  test('knows signed-in users and rejects guests', async () => {
    const [grace, ada] = [await signIn('grace'), await signIn('ada')]
    expect(await grace.client.me.query()).toMatchObject({ email: 'grace@example.com', role: 'user' })
    expect(await ada.client.me.query()).toMatchObject({ email: 'ada@example.com', role: 'admin' })
    const guest = await fetch(`${example.url}/trpc/me`)
    expect(guest.status).toBe(401)
    expect(await guest.json()).toMatchObject({ error: rejected('UNAUTHORIZED', 'TOKEN_MISSING') })
  })

  test('shows notes only to their owner', async () => {
    const [grace, ada] = [await signIn('grace'), await signIn('ada')]
    const note = await grace.client.notes.add.mutate({ text: '  water the plants  ' })
    expect(note.text).toBe('water the plants')
    expect(await grace.client.notes.list.query()).toMatchObject([{ id: note.id }])
    expect(await ada.client.notes.list.query()).toEqual([])
    await expect(ada.client.notes.remove.mutate({ id: note.id })).rejects.toMatchObject(
      rejected('NOT_FOUND', null),
    )
    await grace.client.notes.remove.mutate({ id: note.id })
    expect(await grace.client.notes.list.query()).toEqual([])
  })

  test('prints the error of a procedure, and hides it from the caller', async () => {
    const { client } = await signIn('grace')
    const file = new Database(join(example.folder, 'example.db'))
    file.exec('alter table note rename to lost')
    const call = client.notes.list.query()
    await expect(call)
      .rejects.toThrow('Something went wrong')
      .finally(() => {
        file.exec('alter table lost rename to note').close()
      })
    await untilSaid(example, 'notes.list:')
    expect(example.output()).toContain('no such table: note')
  })

  test('shows users to admins only', async () => {
    const [grace, ada] = [await signIn('grace'), await signIn('ada')]
    await expect(grace.client.admin.users.query({})).rejects.toMatchObject(
      rejected('FORBIDDEN', 'ROLE_REQUIRED'),
    )
    const { users } = await ada.client.admin.users.query({})
    expect(users.map(({ name }) => name)).toEqual(['Grace', 'Ada'])
  })

  test('replaces an API key, and requires a second factor of admins', async () => {
    const admin = await signIn('ada')
    await expect(admin.client.account.rotateApiKey.mutate()).rejects.toMatchObject(
      rejected('FORBIDDEN', 'FACTOR_REQUIRED'),
    )
    const { client } = await signIn('grace')
    const { apiKey } = await client.account.rotateApiKey.mutate()
    expect(apiKey).toMatch(/^key_[\w-]{32}$/)
    expect((await client.account.rotateApiKey.mutate()).apiKey).not.toBe(apiKey)
  })

  test('requires a new sign-in for an API key after a minute', async () => {
    const { client, cookie } = await signIn('grace')
    const { sessionId } = await client.me.query()
    const database = await openSqlite(`file:${join(example.folder, 'example.db')}`)
    const signedInAgo = (seconds: number) =>
      database.db
        .updateTable('session')
        .set({ lastAuthenticatedAt: new Date(Date.now() - seconds * 1000) })
        .where('id', '=', sessionId)
        .execute()

    await signedInAgo(50)
    await client.account.rotateApiKey.mutate()
    await signedInAgo(61)
    await expect(client.account.rotateApiKey.mutate()).rejects.toMatchObject(
      rejected('FORBIDDEN', 'SESSION_NOT_FRESH'),
    )
    expect(await client.account.nameDevice.mutate({ deviceName: 'the desk' })).toBeDefined()
    await database.close()

    const password = 'correct horse battery staple'
    const proved = await post('/reauthenticate', { password }, { cookie })
    expect(proved.status).toBe(200)
    await expect(client.account.rotateApiKey.mutate()).rejects.toMatchObject(
      rejected('UNAUTHORIZED', 'TOKEN_INVALID'),
    )
    expect(await withCookies(proved).client.account.rotateApiKey.mutate()).toHaveProperty('apiKey')
  })

  test('Reports: only their user gets the progress', async () => {
    const [grace, ada] = [await signIn('grace'), await signIn('ada')]
    const id = crypto.randomUUID()
    const [own, other] = [grace, ada].map((user) => subscribe(user, 'report.progress', { id }))
    await Promise.all([own?.started, other?.started])
    const { text } = await grace.client.report.generate.mutate({ id, title: 'Sales' })
    expect(text).toBe('Report: Sales')
    expect(await own?.closed).toBe('stopped')
    expect(own?.values).toEqual([0, 14, 29, 43, 57, 71, 86])
    expect((await post('/sign-out', {}, { cookie: ada.cookie })).status).toBe(200)
    expect(await other?.closed).toMatchObject(rejected('UNAUTHORIZED', 'SESSION_NOT_FOUND'))
    expect(other?.values).toEqual([])
    for (const { socket } of [own, other].filter((each) => each !== undefined)) socket.terminate()
  })

  test('uses the columns that it adds to the user and to the session', async () => {
    const [here, elsewhere] = [await signIn('ada'), await signIn('ada')]
    expect(await here.client.me.query()).toMatchObject({ locale: 'en', deviceName: null })
    expect((await post('/update-user', { locale: 'fr' }, { cookie: here.cookie })).status).toBe(400)
    expect((await post('/update-user', { locale: 'de' }, { cookie: here.cookie })).status).toBe(200)
    await here.client.account.nameDevice.mutate({ deviceName: 'the red phone' })
    expect(await here.client.me.query()).toMatchObject({ locale: 'de', deviceName: 'the red phone' })
    expect(await elsewhere.client.me.query()).toMatchObject({ locale: 'de', deviceName: null })
    expect(await report(here)).toMatchObject({ text: 'Bericht: Sales' })
    expect((await post('/update-user', { locale: 'en' }, { cookie: here.cookie })).status).toBe(200)
    expect(await report(here)).toMatchObject({ text: 'Report: Sales' })
  })

  test('Organizations: create, invite, join, and reject sessions that work in none', async () => {
    const [grace, ada] = [await signIn('grace'), await signIn('ada')]
    await expect(grace.client.organizations.members.query()).rejects.toMatchObject(
      rejected('FORBIDDEN', 'ROLE_REQUIRED'),
    )
    const { organization } = await grace.client.organizations.create.mutate({ name: 'Acme' })
    await grace.client.organizations.invite.mutate({ email: 'ada@example.com', role: 'member' })
    // The server prints it after the response.
    await untilSaid(example, '#token=')
    const [, token = ''] =
      /ada@example\.com may join Acme as member: .*#token=(\S+)/.exec(example.output()) ?? []

    await expect(grace.client.organizations.join.mutate({ token })).rejects.toMatchObject({
      data: { code: 'FORBIDDEN' },
    })
    await ada.client.organizations.join.mutate({ token })
    expect(await ada.client.organizations.list.query()).toMatchObject({
      organizations: [{ id: organization.id, role: 'member' }],
    })
    expect(await ada.client.organizations.members.query()).toMatchObject([
      { name: 'Ada', role: 'member' },
      { name: 'Grace', role: 'owner' },
    ])
    await expect(
      ada.client.organizations.invite.mutate({ email: 'eve@example.com', role: 'member' }),
    ).rejects.toMatchObject(rejected('FORBIDDEN', 'ROLE_REQUIRED'))

    await ada.client.organizations.activate.mutate({ organizationId: null })
    await expect(ada.client.organizations.members.query()).rejects.toMatchObject(
      rejected('FORBIDDEN', 'ROLE_REQUIRED'),
    )
  })

  test('Admin revokes session: the clock ends, and the next call is 401', async () => {
    const [grace, ada] = [await signIn('grace'), await signIn('ada')]
    const { sessionId } = await grace.client.me.query()
    const clock = subscribeClock(grace)
    expect(await clock.first).toHaveProperty('now')

    const revoked = await post('/admin/revoke-user-session', { sessionId }, { cookie: ada.cookie })
    expect(await revoked.json()).toEqual({ revoked: true })

    expect(await clock.closed).toMatchObject(rejected('UNAUTHORIZED', 'SESSION_NOT_FOUND'))
    clock.socket.terminate()
    const next = await fetch(`${example.url}/trpc/me`, { headers: { cookie: grace.cookie } })
    expect(next.status).toBe(401)
    expect(await next.json()).toMatchObject({ error: rejected('UNAUTHORIZED', 'SESSION_NOT_FOUND') })
  })

  test('Sessions: a user lists them and revokes one', async () => {
    const [here, elsewhere] = [await signIn('grace'), await signIn('grace')]
    const sessions = async () => {
      const answer = await fetch(`${example.url}/api/auth/sessions`, { headers: { cookie: here.cookie } })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const body: { sessions: { id: string; current: boolean; address: string }[] } = await answer.json()
      return body.sessions
    }
    const [mine, other] = [await here.client.me.query(), await elsewhere.client.me.query()]
    const listed = await sessions()
    expect(listed.filter(({ current }) => current).map(({ id }) => id)).toEqual([mine.sessionId])
    expect(listed.map(({ id }) => id)).toContain(other.sessionId)
    for (const { address } of listed) expect(address).toMatch(/^(::1|127\.0\.0\.1)$/)

    const revoked = await post('/revoke-session', { sessionId: other.sessionId }, { cookie: here.cookie })
    expect(await revoked.json()).toEqual({ revoked: true })
    await expect(elsewhere.client.me.query()).rejects.toMatchObject(
      rejected('UNAUTHORIZED', 'SESSION_NOT_FOUND'),
    )
    expect((await sessions()).map(({ id }) => id)).not.toContain(other.sessionId)
    expect(await here.client.me.query()).toEqual(mine)
  })

  test('User banned: the clock ends and the next call is 403 Account banned, until the ban is lifted', async () => {
    const [grace, ada] = [await signIn('grace'), await signIn('ada')]
    const { userId } = await grace.client.me.query()
    const clock = subscribeClock(grace)
    expect(await clock.first).toHaveProperty('now')
    expect((await post('/admin/ban-user', { userId }, { cookie: ada.cookie })).status).toBe(200)
    expect(await clock.closed).toMatchObject(rejected('FORBIDDEN', 'ACCOUNT_BANNED'))
    clock.socket.terminate()
    await expect(grace.client.me.query()).rejects.toMatchObject({
      message: 'Account banned',
      ...rejected('FORBIDDEN', 'ACCOUNT_BANNED'),
    })
    expect((await post('/admin/unban-user', { userId }, { cookie: ada.cookie })).status).toBe(200)
    expect(await grace.client.me.query()).toMatchObject({ userId })
  })

  test('limits sign-ins to ten per account, also without an account, and returns when to retry', async () => {
    const attempt = () =>
      post('/sign-in/email', { email: 'unknown@example.com', password: 'a wrong password' })
    for (let i = 0; i < 10; i++) {
      const answer = await attempt()
      expect(answer.status).toBe(401)
      expect(await answer.json()).toMatchObject({ code: 'INVALID_CREDENTIALS' })
    }
    const answer = await attempt()
    expect(answer.status).toBe(429)
    const { code, retryAfterSeconds } = await answer.json()
    expect(code).toBe('RATE_LIMITED')
    expect(answer.headers.get('retry-after')).toBe(String(retryAfterSeconds))
    expect(retryAfterSeconds).toBeGreaterThan(0)
    const other = await post('/sign-in/email', {
      email: 'another@example.com',
      password: 'a wrong password',
    })
    expect(other.status).toBe(401)
  })

  test('can be pruned while it runs', async () => {
    const main = fileURLToPath(new URL('../../core/src/cli/main.ts', import.meta.url))
    const database = `file:${join(example.folder, 'example.db')}`
    const args = [main, 'prune', '--auth', 'src/auth.ts', '--database', database]
    const { NODE_COMPILE_CACHE } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: new URL('..', import.meta.url),
      env: { NODE_COMPILE_CACHE, KEY_FILE: join(example.folder, 'keys', 'keys.json') },
    })
    expect(stdout).toBe(
      'removed session 0, sallyport.audit 0, sallyport.rate_limit 0, sallyport.challenge 0, sallyport.service_token 0, sallyport.service_call 0, verification 0, knownDevice 0, invitation 0, oauthFlow 0, oauthCode 0, passkeyChallenge 0, trustedDevice 0, emailCode 0, emailCodeBrowser 0\n',
    )
  })

  test('a bearer client signs in without cookies, and its SSE client receives the clock until the session ends', async () => {
    const items = new Map<string, string>()
    const { authClient, trpcClient } = createBearerClient(example.url, {
      getItem: (key) => items.get(key) ?? null,
      setItem: (key, value) => void items.set(key, value),
      removeItem: (key) => void items.delete(key),
    })
    expect(await trpcClient.greeting.query()).toBe('Hello, guest')
    const password = 'correct horse battery staple'
    const { sessionId } = await authClient.api.signInEmail({ email: 'ada@example.com', password })
    expect(await trpcClient.greeting.query()).toBe('Hello, Ada')

    const { promise: error, resolve: end } = Promise.withResolvers<unknown>()
    const { promise: first, resolve: begin } = Promise.withResolvers<unknown>()
    createSseClient(example.url, authClient).clock.subscribe(
      { intervalMs: 10 },
      { onData: begin, onError: end, onComplete: () => end('complete') },
    )
    expect(await first).toHaveProperty('now')
    await trpcClient.admin.revokeSession.mutate({ sessionId })
    expect(await error).toMatchObject({ data: { auth: { reason: 'SESSION_NOT_FOUND' } } })
  })

  test('User signs out: the next call is 401', async () => {
    const { cookie, client } = await signIn('grace')
    expect((await post('/sign-out', {}, { cookie })).status).toBe(200)
    await expect(client.me.query()).rejects.toMatchObject(rejected('UNAUTHORIZED', 'SESSION_NOT_FOUND'))
  })
})

describe('the process', () => {
  test('exits with 0 on SIGINT, also with an open stream', async () => {
    const grace = await signIn('grace')
    const clock = subscribeClock(grace)
    await clock.first
    example.process.kill('SIGINT')
    expect(await example.exit).toBe(0)
    clock.socket.terminate()
  })

  test('does not start in production on a database that has the demo users', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
    const url = `file:${join(folder, 'used.db')}`
    const database = await openSqlite(url)
    const ada = { name: 'Ada', email: 'ada@example.com', password: 'a long password', now: new Date() }
    await createPasswordAccount(database, ada)
    await database.close()
    const signingKeys = { keys: [await createSigningKey()] }
    const { exit, output } = await spawnExample({
      NODE_ENV: 'production',
      DATABASE_URL: url,
      SIGNING_KEYS: JSON.stringify(signingKeys),
      ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
      JWKS: JSON.stringify(parseSigningKeys(signingKeys).publicJwks),
    })
    expect(await exit).not.toBe(0)
    expect(output()).toContain('DATABASE_URL')
    rmSync(folder, { recursive: true })
  })

  test('has no demo users and no demo provider for a public address, also without NODE_ENV', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
    const running = await startExample({ NODE_ENV: 'test', BASE_URL: 'https://app.example.com' }, { folder })
    const { users, demo } = await inspectDemo(running, folder)
    const provider = await fetch(`${running.url}/demo-provider/.well-known/openid-configuration`)
    expect(await provider.text()).not.toContain('authorization_endpoint')
    const signIn = await fetch(`${running.url}/api/auth/sign-in/oauth`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
      body: JSON.stringify({ provider: 'demo', redirectTo: '/' }),
    })
    expect(await signIn.json()).toMatchObject({ code: 'INVALID_INPUT', fields: ['provider'] })
    running.process.kill('SIGTERM')
    await running.exit
    rmSync(folder, { recursive: true })
    expect(users).toEqual([])
    expect(demo).toBeNull()
    expect(running.output()).not.toContain('correct horse battery staple')
  })

  test('does not start in production without keys, and prints how to create them', async () => {
    const { exit, output } = await spawnExample({ NODE_ENV: 'production' })
    expect(await exit).not.toBe(0)
    expect(output()).toContain('sallyport keys create')
    expect(output()).toContain('SIGNING_KEYS')
  })
})

/** Returns the users in the database of an example, and the demo users of its sign-in page. */
async function inspectDemo({ url }: Example, folder: string) {
  const database = await openSqlite(`file:${join(folder, 'example.db')}`)
  const users = await database.db.selectFrom('user').select('email').execute()
  await database.close()
  const answer: { result: { data: unknown } } = await (await fetch(`${url}/trpc/demo`)).json()
  return { users, demo: answer.result.data }
}
