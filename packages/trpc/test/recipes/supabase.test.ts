import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, expect, test } from 'vitest'
import { startJwksServer } from '../../../core/test/support/jwks-server.ts'
import { setEnvironment } from './environment.ts'
import { openApp } from './open-app.ts'

/** The columns of Supabase's tables that the recipe reads, as its migrations define them. */
const TABLES = `
  create schema auth;
  create table auth.users (id uuid primary key, email varchar(255), role varchar(255), banned_until timestamptz,
    deleted_at timestamptz);
  create table auth.sessions (id uuid primary key, user_id uuid not null references auth.users on delete cascade,
    created_at timestamptz, updated_at timestamptz, factor_id uuid, not_after timestamptz)`

const { publicKey, privateKey } = await generateKeyPair('ES256')
const jwk = {
  ...(await exportJWK(publicKey)),
  alg: 'ES256',
  kid: 'k1',
  use: 'sig',
  key_ops: ['verify'],
  ext: true,
}
const project = await startJwksServer(JSON.stringify({ keys: [jwk] }))
const SUPABASE_URL = new URL(project.url).origin
const rows = await setEnvironment(TABLES, { SUPABASE_URL })
const { authConfig } = await import('./supabase/auth.config.ts')
const { db, pool, store } = await import('./supabase/database.ts')
afterAll(async () => {
  await store.close()
  await pool.end()
})

/** Signs a user in, and returns a token like Supabase's. */
async function signIn(claims: object = {}) {
  const [userId, sessionId] = [crypto.randomUUID(), crypto.randomUUID()]
  await rows.query(`insert into auth.users values ($1, 'ada@example.com', 'authenticated')`, [userId])
  await rows.query('insert into auth.sessions values ($1, $2, now(), now())', [sessionId, userId])
  const now = Math.floor(Date.now() / 1000)
  const payload = {
    aal: 'aal1',
    role: 'authenticated',
    session_id: sessionId,
    is_anonymous: false,
    ...claims,
  }
  const token = await new SignJWT({ aud: 'authenticated', ...payload })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'JWT' })
    .setIssuer(`${SUPABASE_URL}/auth/v1`)
    .setSubject(userId)
    .setIssuedAt(now)
    .setExpirationTime(now + 3_600)
    .sign(privateKey)
  return { token, userId, sessionId }
}

const rejected = (reason: string) => ({ rejection: { auth: { reason } } })

test('a session without an end is valid over every transport', async () => {
  const callerOf = await openApp(authConfig, db)
  const { token, userId } = await signIn()
  const caller = callerOf({ token })
  expect(await caller.me()).toMatchObject({ data: { userId, user: { email: 'ada@example.com' } } })
  expect(await caller.meOverSocket()).toMatchObject({ data: { userId } })
  expect(await caller.pay()).toMatchObject({ data: userId })
})

test.each([
  ['a sign-out', 'delete from auth.sessions where user_id = $1', 'SESSION_NOT_FOUND'],
  ['a deleted user', 'delete from auth.users where id = $1', 'SESSION_NOT_FOUND'],
  ['a ban', `update auth.users set banned_until = now() + interval '1 day' where id = $1`, 'ACCOUNT_BANNED'],
  [
    'a time limit that has passed',
    'update auth.sessions set not_after = now() where user_id = $1',
    'SESSION_EXPIRED',
  ],
])('%s ends calls and streams', async (_name, statement, reason) => {
  const callerOf = await openApp(authConfig, db)
  const { token, userId } = await signIn()
  const caller = callerOf({ token })
  const ticks = caller.ticks()
  expect(await ticks.first).toMatchObject({ data: 1 })
  await rows.query(statement, [userId])
  // At once, because a ban closes the socket after 100 ms.
  const outcomes = await Promise.all([caller.meOverSocket(), caller.me()])
  expect(outcomes).toMatchObject([rejected(reason), rejected(reason)])
  expect({ rejection: await ticks.ended }).toMatchObject(rejected(reason))
})

test('a ban that was lifted, or has ended, is none', async () => {
  const callerOf = await openApp(authConfig, db)
  const { token, userId } = await signIn()
  for (const until of [`now() - interval '1 s'`, 'null']) {
    await rows.query(`update auth.users set banned_until = ${until} where id = $1`, [userId])
    expect(await callerOf({ token }).me()).toMatchObject({ rejection: null })
  }
})

test('when the JWT has expired, calls are rejected, and the row decides about an open WebSocket', async () => {
  let aheadMs = 0
  const callerOf = await openApp({ ...authConfig, now: () => new Date(Date.now() + aheadMs) }, db)
  const { token, sessionId } = await signIn()
  const caller = callerOf({ token })
  expect(await caller.meOverSocket()).toMatchObject({ rejection: null })
  aheadMs = 3_600_000
  expect(await caller.me()).toMatchObject(rejected('TOKEN_EXPIRED'))
  expect(await caller.meOverSocket()).toMatchObject({ rejection: null })
  await rows.query('delete from auth.sessions where id = $1', [sessionId])
  expect(await caller.meOverSocket()).toMatchObject(rejected('SESSION_NOT_FOUND'))
})

test.each([
  ['of a service', { aud: 'service_role' }, 'TOKEN_INVALID'],
  ['without a session', { session_id: undefined }, 'TOKEN_INVALID'],
  ['of another session', { session_id: crypto.randomUUID() }, 'SESSION_NOT_FOUND'],
])('rejects a token %s', async (_name, claims, reason) => {
  const callerOf = await openApp(authConfig, db)
  const { token } = await signIn(claims)
  expect(await callerOf({ token }).me()).toMatchObject(rejected(reason))
})
