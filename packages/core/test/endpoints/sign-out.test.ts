import { join } from 'node:path'
import type { AuthEvent } from '@sallyport/core'
import { createAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { cookieChanges, cookiesAfter, get, post } from '../support/requests.ts'
import { foundWhenAnnounced } from '../support/revocations.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const path = join(temporaryDirectory(), 'app.db')
const events: AuthEvent[] = []
const auth = await createTestAuth({ databaseUrl: path, onEvent: (event) => void events.push(event) })
const { userId } = await auth.createUser()
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn({ userId })
})

const signOut = (cookie: string, body?: unknown) =>
  auth.handler(post(ENDPOINTS.signOut.path, body, { cookie }))
const isThere = async ({ sessionId, userId }: TestSession) =>
  (await auth.database.sessions.findSession({ sessionId, userId })) !== null

test('deletes the session record, and clears both cookies with an empty value and Max-Age=0', async () => {
  const response = await signOut(ada.cookie)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true })
  expect(response.headers.getSetCookie()).toEqual([
    'service.jwt=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    'service.session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
  ])
  expect(await isThere(ada)).toBe(false)
})

test('is reported once it is committed, and recorded', async () => {
  const found = foundWhenAnnounced(ada, auth.database)
  events.length = 0
  await signOut(ada.cookie)
  expect(await found).toBeNull()
  const revoked = { type: 'session.revoked', userId, sessionId: ada.sessionId, at: auth.clock.now() }
  expect(events).toMatchObject([{ ...revoked, cause: 'sign-out', actorId: null }])
  const records = auth.db
    .selectFrom('sallyport.audit')
    .select(['userId', 'actorId', 'detail'])
    .where('sessionId', '=', ada.sessionId)
    .where('type', '=', 'session.revoked')
  expect(await records.execute()).toEqual([{ userId, actorId: null, detail: '{"cause":"sign-out"}' }])
})

test('ends only this session of the user', async () => {
  const elsewhere = await auth.signIn({ userId })
  await signOut(ada.cookie)
  expect(await isThere(elsewhere)).toBe(true)
})

describe('succeeds', () => {
  const cleared = ['service.jwt', 'service.session']

  test('twice', async () => {
    for (let i = 0; i < 2; i++) {
      const response = await signOut(ada.cookie)
      expect(response.status).toBe(200)
      expect(cookieChanges(response)).toEqual({ set: [], cleared })
    }
  })

  test.each([
    ['an expired JWT', async () => (await auth.expireJwt(ada)).cookie],
    ['two JWTs', async () => `${ada.cookie}; service.jwt=x`],
    ['no JWT', async () => `service.session=${ada.sessionCookie}`],
    [
      'the JWT of another user',
      async () => `service.jwt=${(await auth.signIn()).token}; service.session=${ada.sessionCookie}`,
    ],
    [
      'an expired session',
      async () => {
        await auth.expireSession(ada)
        return ada.cookie
      },
    ],
  ])('with %s, and the session ends', async (_name, given) => {
    const response = await signOut(await given())
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: [], cleared })
    expect(await isThere(ada)).toBe(false)
  })

  test('for a banned user, who stays banned', async () => {
    const carol = await auth.signIn()
    await auth.ban(carol)
    expect((await signOut(carol.cookie)).status).toBe(200)
    expect(await isThere(carol)).toBe(false)
    const { banned } = await auth.db
      .selectFrom('user')
      .select('banned')
      .where('id', '=', carol.userId)
      .executeTakeFirstOrThrow()
    expect(banned).toBe(1)
  })

  test.each([
    ['no cookie', () => ''],
    ['an invalid JWT', () => 'service.jwt=x.y.z'],
    ['a wrong secret', () => `service.session=${ada.sessionId}.${'A'.repeat(43)}`],
    ['no secret', () => `service.session=${ada.sessionId}`],
  ])('with %s, and ends no session', async (_name, cookie) => {
    const response = await signOut(cookie())
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: [], cleared })
    expect(await isThere(ada)).toBe(true)
  })

  test('without credentials, and reports no rejection', async () => {
    events.length = 0
    expect((await signOut('')).status).toBe(200)
    expect(events).toEqual([])
  })

  test('and keeps the device known, with its cookie unchanged', async () => {
    const response = await signOut(`${ada.cookie}; service.device=x`)
    expect(cookieChanges(response)).toEqual({ set: [], cleared })
  })

  test('with the JWT alone, and ends its session', async () => {
    const response = await signOut(`service.jwt=${ada.token}`)
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: [], cleared })
    expect(await isThere(ada)).toBe(false)
  })

  test('with the JWT of a banned user alone', async () => {
    const carol = await auth.signIn()
    await auth.ban(carol)
    expect((await signOut(`service.jwt=${carol.token}`)).status).toBe(200)
    expect(await isThere(carol)).toBe(false)
  })

  test('with the previous secret right after a refresh', async () => {
    const rotating = await createTestAuth({ session: { rotateSessionToken: true } })
    const bob = await rotating.signIn()
    const refreshed = await rotating.handler(get(ENDPOINTS.token.path, { cookie: bob.cookie }))
    expect(cookiesAfter(bob.cookie, refreshed)).not.toContain(bob.sessionCookie)
    const response = await rotating.handler(post(ENDPOINTS.signOut.path, undefined, { cookie: bob.cookie }))
    expect(response.status).toBe(200)
    expect(await rotating.database.sessions.findSession(bob)).toBeNull()
    await rotating.close()
  })
})

describe('with a bearer token and no session cookie', () => {
  test('ends the session of the token, if bearer transport is enabled', async () => {
    const withBearer = await createTestAuth({ bearer: true })
    const bob = await withBearer.signIn()
    const elsewhere = await withBearer.signIn({ userId: bob.userId })
    const call = (token: string) =>
      withBearer.handler(post(ENDPOINTS.signOut.path, undefined, { authorization: `Bearer ${token}` }))
    expect((await call(bob.token)).status).toBe(200)
    expect(await withBearer.database.sessions.findSession(bob)).toBeNull()
    expect(await withBearer.database.sessions.findSession(elsewhere)).not.toBeNull()

    const expired = await withBearer.expireJwt(elsewhere)
    for (const token of ['x.y.z', expired.token]) {
      const response = await call(token)
      expect(response.status).toBe(401)
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    }
    expect(await withBearer.database.sessions.findSession(elsewhere)).not.toBeNull()
    await withBearer.close()
  })

  test('ends nothing if it is disabled', async () => {
    const response = await auth.handler(
      post(ENDPOINTS.signOut.path, undefined, { authorization: `Bearer ${ada.token}` }),
    )
    expect(response.status).toBe(200)
    expect(await isThere(ada)).toBe(true)
  })
})

test('uses the session cookie if the bearer token is of another session', async () => {
  const withBearer = await createTestAuth({ bearer: true })
  const [bob, eve] = [await withBearer.signIn(), await withBearer.signIn()]
  const headers = { cookie: bob.cookie, authorization: `Bearer ${eve.token}` }
  await withBearer.handler(post(ENDPOINTS.signOut.path, undefined, headers))
  expect(await withBearer.database.sessions.findSession(bob)).toBeNull()
  expect(await withBearer.database.sessions.findSession(eve)).not.toBeNull()
  await withBearer.close()
})

test("with the JWT alone is 503 if it can't be verified, and changes nothing", async () => {
  const down = await createTestAuth()
  onTestFinished(() => down.close())
  const bob = await down.signIn()
  const [own] = down.config.issuers
  const jwks = { ...own.jwks, findKey: () => Promise.reject(new Error('down')) }
  const config = { ...down.config, issuers: [{ ...own, jwks }] as const, onFailure: () => {} }
  const { handler } = await createAuth({ ...down.definition, config }, down.database, {
    pruneEverySeconds: 0,
  })
  const response = await handler(
    post(ENDPOINTS.signOut.path, undefined, { cookie: `service.jwt=${bob.token}` }),
  )
  expect([response.status, (await response.json()).code]).toEqual([503, 'KEYS_UNAVAILABLE'])
  expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  expect(await down.database.sessions.findSession(bob)).not.toBeNull()
})

test('clears a superseded session cookie and keeps its session', async () => {
  const renewal = await auth.handler(post(ENDPOINTS.revokeCopies.path, {}, { cookie: ada.cookie }))
  const current = cookiesAfter(ada.cookie, renewal)
  for (const cookie of [ada.cookie, `service.session=${ada.sessionCookie}`]) {
    const response = await signOut(cookie)
    expect(response.status).toBe(200)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: ['service.jwt', 'service.session'] })
    expect(await isThere(ada)).toBe(true)
  }
  expect((await auth.handler(get(ENDPOINTS.token.path, { cookie: current }))).status).toBe(200)
})

test('the JWT of an older version alone ends nothing', async () => {
  await auth.handler(post(ENDPOINTS.revokeCopies.path, {}, { cookie: ada.cookie }))
  expect((await signOut(`service.jwt=${ada.token}`)).status).toBe(200)
  expect(await isThere(ada)).toBe(true)
})
