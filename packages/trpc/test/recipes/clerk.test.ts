import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Webhook } from 'svix'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { startJwksServer } from '../../../core/test/support/jwks-server.ts'
import { setEnvironment } from './environment.ts'
import { openApp } from './open-app.ts'

/** The tables of the guide. */
const TABLES = `
  create table clerk_user (id text primary key, banned boolean not null, updated_at bigint not null);
  create table clerk_session (
    id text primary key, user_id text not null, expire_at bigint not null, created_at bigint)`

const { publicKey, privateKey } = await generateKeyPair('RS256')
const jwk = { ...(await exportJWK(publicKey)), alg: 'RS256', kid: 'ins_1', use: 'sig' }

/** What Clerk's API knows, by path. Null is an outage. */
let resources: Map<string, object> | null = new Map()
const clerkApi = await startJwksServer((request, response) => {
  const isKeys = request.url === '/.well-known/jwks.json'
  const body = isKeys ? { keys: [jwk] } : resources?.get(request.url ?? '')
  const status = body ? 200 : resources === null ? 500 : 404
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
})
const CLERK_API_URL = new URL(clerkApi.url).origin
const CLERK_WEBHOOK_SECRET = `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('base64')}`
const rows = await setEnvironment(TABLES, {
  ...{ CLERK_API_URL, CLERK_WEBHOOK_SECRET, CLERK_FRONTEND_API: CLERK_API_URL, CLERK_SECRET_KEY: 'sk_test' },
})
const { authConfig } = await import('./clerk/auth.config.ts')
const { answerWebhook, mirror, pool } = await import('./clerk/clerk.ts')
const { db, store } = await import('./clerk/database.ts')
afterAll(async () => {
  await store.close()
  await pool.end()
})
beforeEach(() => {
  resources = new Map()
})

async function openUser() {
  const [userId, sessionId] = [`user_${crypto.randomUUID()}`, `sess_${crypto.randomUUID()}`]
  const now = Date.now()
  const user = { object: 'user', id: userId, banned: false, updated_at: now }
  const session = {
    ...{ object: 'session', id: sessionId, user_id: userId, status: 'active', actor: null },
    ...{ created_at: now, updated_at: now, expire_at: now + 7 * 86_400_000 },
  }
  const seconds = Math.floor(now / 1000)
  const token = await new SignJWT({
    sid: sessionId,
    v: 2,
    sts: 'active',
    fva: [0, -1],
    aud: authConfig.audience,
  })
    .setProtectedHeader({ alg: 'RS256', kid: 'ins_1', typ: 'JWT', cat: 'cl_B7d4PD111AAA', oiat: seconds })
    .setIssuer(CLERK_API_URL)
    .setSubject(userId)
    .setIssuedAt(seconds)
    .setNotBefore(seconds - 10)
    .setExpirationTime(seconds + 60)
    .sign(privateKey)
  return { token, userId, sessionId, user, session }
}

/** Delivers an event, signed like Clerk's. Resolves to the status of the response. */
async function deliver(type: string, data: object, signer = new Webhook(CLERK_WEBHOOK_SECRET)) {
  const body = JSON.stringify({ type, object: 'event', data })
  const [id, sentAt] = [`msg_${crypto.randomUUID()}`, new Date()]
  const headers = {
    'svix-id': id,
    'svix-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'svix-signature': signer.sign(id, sentAt, body),
  }
  const url = 'http://localhost:3000/webhooks/clerk'
  return (await answerWebhook(new Request(url, { method: 'POST', headers, body }))).status
}

const rejected = (reason: string) => ({ rejection: { auth: { reason } } })

describe('a webhook ends calls and streams', () => {
  test.each([
    ['session.ended', { status: 'ended' }, 'SESSION_EXPIRED'],
    ['session.removed', { status: 'removed' }, 'SESSION_EXPIRED'],
    ['session.revoked', { status: 'revoked' }, 'SESSION_EXPIRED'],
  ])('%s', async (type, change, reason) => {
    const callerOf = await openApp(authConfig, db)
    const { token, user, session, userId } = await openUser()
    expect(await deliver('user.created', user)).toBe(204)
    expect(await deliver('session.created', session)).toBe(204)
    const caller = callerOf({ token })
    const ticks = caller.ticks()
    expect(await ticks.first).toMatchObject({ data: 1 })
    expect(await caller.pay()).toMatchObject({ data: userId })
    expect(await deliver(type, { ...session, ...change })).toBe(204)
    expect(await caller.me()).toMatchObject(rejected(reason))
    expect(await caller.meOverSocket()).toMatchObject(rejected(reason))
    expect({ rejection: await ticks.ended }).toMatchObject(rejected(reason))
  })

  test.each<[string, object]>([
    ['user.updated', { banned: true, updated_at: Date.now() + 60_000 }],
    ['user.deleted', { banned: undefined, updated_at: undefined, deleted: true }],
  ])('%s', async (type, change) => {
    const callerOf = await openApp(authConfig, db)
    const { token, user, session } = await openUser()
    await deliver('user.created', user)
    await deliver('session.created', session)
    const caller = callerOf({ token })
    const ticks = caller.ticks()
    expect(await ticks.first).toMatchObject({ data: 1 })
    expect(await deliver(type, { ...user, ...change })).toBe(204)
    expect(await caller.me()).toMatchObject(rejected('ACCOUNT_BANNED'))
    expect({ rejection: await ticks.ended }).toMatchObject(rejected('ACCOUNT_BANNED'))
  })
})

test('a session that the app revoked with the API ends before the webhook', async () => {
  const callerOf = await openApp(authConfig, db)
  const { token, session } = await openUser()
  await deliver('session.created', session)
  const caller = callerOf({ token })
  expect(await caller.me()).toMatchObject({ rejection: null })
  await mirror('session.revoked', { ...session, status: 'revoked' })
  expect(await caller.me()).toMatchObject(rejected('SESSION_EXPIRED'))
})

test('events that come late or twice restore nothing', async () => {
  const callerOf = await openApp(authConfig, db)
  const { token, user, session } = await openUser()
  const { me } = callerOf({ token })
  await deliver('user.deleted', { id: user.id, deleted: true })
  await deliver('user.updated', user)
  await deliver('session.created', session)
  expect(await me()).toMatchObject(rejected('ACCOUNT_BANNED'))

  const other = await openUser()
  const caller = callerOf({ token: other.token })
  await deliver('user.updated', { ...other.user, banned: true, updated_at: other.user.updated_at + 1 })
  await deliver('session.revoked', { ...other.session, status: 'revoked' })
  await deliver('session.created', other.session)
  await deliver('user.created', other.user)
  expect(await caller.me()).toMatchObject(rejected('SESSION_EXPIRED'))
  const { rows: users } = await rows.query('select banned from clerk_user where id = $1', [other.userId])
  expect(users).toEqual([{ banned: true }])
})

describe('a token that arrives before the webhook', () => {
  test("is accepted if Clerk's API knows the session, and a revoked one stays revoked", async () => {
    const callerOf = await openApp(authConfig, db)
    const { token, session } = await openUser()
    const caller = callerOf({ token })
    expect(await caller.me()).toMatchObject(rejected('SESSION_NOT_FOUND'))
    resources?.set(`/v1/sessions/${session.id}`, session)
    expect(await caller.me()).toMatchObject({ rejection: null })
    const before = clerkApi.requests
    expect(await caller.pay()).toMatchObject({ rejection: null })
    expect(clerkApi.requests).toBe(before)
    await deliver('session.revoked', { ...session, status: 'revoked' })
    await deliver('session.created', session)
    expect(await caller.me()).toMatchObject(rejected('SESSION_EXPIRED'))
  })

  test.each(['ended', 'revoked', 'abandoned', 'expired'])(
    'is rejected if the session is %s',
    async (status) => {
      const callerOf = await openApp(authConfig, db)
      const { token, session } = await openUser()
      resources?.set(`/v1/sessions/${session.id}`, { ...session, status })
      expect(await callerOf({ token }).me()).toMatchObject(rejected('SESSION_EXPIRED'))
    },
  )

  test('waits for a session that is still pending', async () => {
    const callerOf = await openApp(authConfig, db)
    const { token, session } = await openUser()
    const path = `/v1/sessions/${session.id}`
    resources?.set(path, { ...session, status: 'pending' })
    expect(await callerOf({ token }).me()).toMatchObject(rejected('SESSION_NOT_FOUND'))
    resources?.set(path, session)
    expect(await callerOf({ token }).me()).toMatchObject({ rejection: null })
  })

  test('gets 503 while Clerk fails', async () => {
    const callerOf = await openApp(authConfig, db)
    const { token } = await openUser()
    resources = null
    expect(await callerOf({ token }).me()).toMatchObject(rejected('SESSIONS_UNAVAILABLE'))
  })
})

test('an impersonated session is not fresh', async () => {
  const callerOf = await openApp(authConfig, db)
  const { token, user, session } = await openUser()
  await deliver('user.created', user)
  await deliver('session.created', { ...session, actor: { sub: 'user_admin' } })
  const { data } = await callerOf({ token }).me()
  expect(data).toMatchObject({ lastAuthenticatedAt: new Date(0).toISOString() })
})

test('an event with another signature changes nothing', async () => {
  const { user } = await openUser()
  const forger = new Webhook(`whsec_${Buffer.alloc(24, 1).toString('base64')}`)
  expect(await deliver('user.created', user, forger)).toBe(400)
  const { rows: users } = await rows.query('select from clerk_user where id = $1', [user.id])
  expect(users).toEqual([])
})
