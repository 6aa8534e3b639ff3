import { afterAll, expect, test } from 'vitest'
import { setEnvironment } from './environment.ts'
import { openApp } from './open-app.ts'

/** The adapter's tables for PostgreSQL, with the two columns of the guide. */
const TABLES = `
  create table "user" (id text primary key, name text, email text unique, "emailVerified" timestamp, image text);
  create table account ("userId" text not null references "user" on delete cascade, type text not null,
    provider text not null, "providerAccountId" text not null, refresh_token text, access_token text,
    expires_at integer, token_type text, scope text, id_token text, session_state text,
    primary key (provider, "providerAccountId"));
  create table session ("sessionToken" text primary key, expires timestamp not null,
    "userId" text not null references "user" on delete cascade);
  create table "verificationToken" (identifier text, token text, expires timestamp not null,
    primary key (identifier, token));
  alter table session add column id uuid default gen_random_uuid() unique,
    add column "createdAt" timestamptz default now()`

const rows = await setEnvironment(TABLES, { BASE_URL: 'https://app.example.com' })
const { answerAuth, oldDatabase, sentLinks } = await import('./auth-js/old-app.ts')
const { authConfig } = await import('./auth-js/auth.config.ts')
const { db, store } = await import('./auth-js/database.ts')
afterAll(async () => {
  await store.close()
  await oldDatabase.end()
})

/** Signs in with an email, as a browser does. */
async function signIn() {
  const cookies = new Map<string, string>()
  const cookie = () => [...cookies].map((pair) => pair.join('=')).join('; ')
  async function send(path: string, fields?: Record<string, string>) {
    const body = fields && { method: 'POST', body: new URLSearchParams(fields) }
    const url = new URL(path, `${authConfig.issuer}/api/auth/`)
    const response = await answerAuth(new Request(url, { headers: { cookie: cookie() }, ...body }))
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  async function post(path: string, fields: Record<string, string> = {}) {
    const { csrfToken } = await (await send('csrf')).json()
    return send(path, { ...fields, csrfToken })
  }
  await post('signin/email', { email: `${crypto.randomUUID()}@example.com` })
  await send(sentLinks.pop() ?? '')
  return { send, post, sent: () => ({ headers: { cookie: cookie() } }) }
}

test('a signed-in user calls, and a sign-out ends calls and streams', async () => {
  const callerOf = await openApp(authConfig, db)
  const { post, sent } = await signIn()
  const headers = sent()
  const caller = callerOf(headers)
  expect(await caller.me()).toMatchObject({ data: { user: { email: expect.stringContaining('@') } } })
  expect(await caller.pay()).toMatchObject({ rejection: null })
  const ticks = caller.ticks()
  expect(await ticks.first).toMatchObject({ data: 1 })
  await post('signout')
  for (const outcome of [await caller.me(), await caller.meOverSocket(), { rejection: await ticks.ended }])
    expect(outcome).toMatchObject({ rejection: { auth: { reason: 'SESSION_NOT_FOUND' } } })
})

test('a deleted row and a forged cookie are rejected, also from another site', async () => {
  const callerOf = await openApp(authConfig, db)
  const { sent } = await signIn()
  const { headers } = sent()
  const foreign = callerOf({ headers: { ...headers, origin: 'https://evil.example' } })
  expect(await foreign.pay()).toMatchObject({ rejection: { auth: { reason: 'ORIGIN_REJECTED' } } })
  const forged = headers.cookie.replace(/session-token=[^;]*/, `session-token=${crypto.randomUUID()}`)
  for (const cookie of [forged, await deleteSession(headers.cookie)])
    expect(await callerOf({ headers: { cookie } }).me()).toMatchObject({
      rejection: { auth: { reason: 'SESSION_NOT_FOUND' } },
    })
  expect(await callerOf({}).me()).toMatchObject({ rejection: { auth: { reason: 'TOKEN_MISSING' } } })
})

test('Auth.js extends the session, and its cookie stays the same', async () => {
  const callerOf = await openApp(authConfig, db)
  const { send, sent } = await signIn()
  const before = sent()
  const inTwoDays = Date.now() + 2 * 86_400_000
  await rows.query('update session set expires = $1', [new Date(inTwoDays).toISOString()])
  await send('session')
  expect(sent()).toEqual(before)
  const { data } = await callerOf(before).me()
  expect(data).toMatchObject({ expiresAt: expect.toSatisfy((date) => Date.parse(date) > inTwoDays) })
})

async function deleteSession(cookie: string): Promise<string> {
  const [, token] = /session-token=([^;]*)/.exec(cookie) ?? []
  await rows.query('delete from session where "sessionToken" = $1', [token])
  return cookie
}
