import { randomBytes } from 'node:crypto'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callMe } from '../../src/gate/call-me.ts'
import { createCookieJar } from '../../src/gate/cookie-jar.ts'
import type { ScenarioRun } from '../../src/gate/run-scenario.ts'
import { SCENARIOS } from '../../src/gate/scenarios.ts'
import { BASE_URL, type OpenApp, openApp } from '../open-app.ts'

let app: OpenApp
beforeAll(async () => {
  app = await openApp()
})
afterAll(() => app.close())

const OWN = { 'x-sallyport': '1' }

const enter = (
  name: string,
  headers: Record<string, string> = OWN,
  fetch = createCookieJar(app.send).fetch,
) => fetch(`${BASE_URL}/gate/scenario/${name}`, { method: 'POST', headers })

/** The result of both steps in each state. */
const STEP_RESULTS: Record<string, [jwt: string | null, session: string | null | undefined, helps: boolean]> =
  {
    normal: [null, null, false],
    'signed-out': ['TOKEN_MISSING', undefined, false],
    revoked: [null, 'SESSION_NOT_FOUND', false],
    'jwt-expired': ['TOKEN_EXPIRED', undefined, true],
    'both-expired': ['TOKEN_EXPIRED', undefined, false],
    'session-expired': [null, 'SESSION_EXPIRED', false],
    banned: [null, 'ACCOUNT_BANNED', false],
  }

describe('scenario matrix', () => {
  test.each(SCENARIOS)('$title: $result, $experience', async ({ name, result, experience }) => {
    const browser = createCookieJar(app.send)
    const answer = await enter(name, OWN, browser.fetch)
    expect(answer.status).toBe(200)
    const { user, inspection, call }: ScenarioRun = await answer.json()
    expect(call).toMatchObject({ result, experience })
    expect([inspection.jwt.reason, inspection.session?.reason, inspection.refreshHelps]).toEqual(
      STEP_RESULTS[name],
    )

    // The browser itself is in that state and gets the same results.
    const own = await browser.fetch(`${BASE_URL}/trpc/gate.inspect`)
    expect(await own.json()).toMatchObject({
      result: { data: { jwt: { reason: inspection.jwt.reason }, next: inspection.next, hasScenarios: true } },
    })
    expect(await callMe(BASE_URL, user, browser.fetch)).toEqual(call)
  })

  test('the expired JWT is in a cookie that browsers keep', async () => {
    const answer = await enter('jwt-expired')
    expect(answer.headers.getSetCookie()).toContainEqual(
      expect.stringMatching(/^service\.jwt=[^;]+; Max-Age=86400; Path=\/; HttpOnly; SameSite=Lax$/),
    )
  })
})

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
  ['another origin of this site', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:4000' }],
  ['an unknown origin', {}],
])('a request from %s is rejected', async (_who, headers) => {
  const answer = await enter('normal', headers)
  expect(answer.status).toBe(403)
  expect(await answer.json()).toMatchObject({ code: 'ORIGIN_REJECTED' })
  expect(answer.headers.getSetCookie()).toEqual([])
})

test.each([
  ['an unknown state', 'POST', 'unknown'],
  ['another method', 'PUT', 'normal'],
])('%s is not found', async (_what, method, name) => {
  const answer = await app.send(
    new Request(`${BASE_URL}/gate/scenario/${name}`, { method, headers: { 'x-sallyport': '1' } }),
  )
  expect(answer.status).toBe(404)
})

test('changes only the user of the gate', async () => {
  const others = () => app.db.selectFrom('user').selectAll().where('email', '!=', 'gate@localhost').execute()
  const grace = await app.signIn('grace')
  const before = await others()
  for (const { name } of SCENARIOS) await enter(name)
  expect(await others()).toEqual(before)
  expect(await grace.client.me.query()).toMatchObject({ email: 'grace@example.com' })
})

test('the user of the gate has no password, and each run resets its role and its ban', async () => {
  await enter('normal')
  const own = { email: 'gate@localhost', password: 'a long enough password' }
  const { api } = await app.signIn('grace')
  await expect(api.signUpEmail({ ...own, name: 'Eve' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const { id } = await app.db
    .updateTable('user')
    .set({ role: 'admin', banned: true })
    .where('email', '=', own.email)
    .returning('id')
    .executeTakeFirstOrThrow()
  const accounts = await app.db.selectFrom('account').selectAll().where('userId', '=', id).execute()
  expect(accounts).toEqual([])
  const { call }: ScenarioRun = await (await enter('normal')).json()
  expect(call.result).toBe('200')
  const user = app.db.selectFrom('user').select('role').where('id', '=', id)
  expect(await user.executeTakeFirst()).toEqual({ role: 'user' })
})

test('a scenario replaces the user of the browser', async () => {
  const { jar, client, userId } = await app.signIn('grace')
  await enter('normal', OWN, jar.fetch)
  expect(await client.me.query()).toMatchObject({ email: 'gate@localhost' })
  const left = await app.db
    .selectFrom('sallyport.audit')
    .select('detail')
    .where('userId', '=', userId)
    .execute()
  expect(left.map(({ detail }) => JSON.parse(detail))).toContainEqual({ cause: 'replaced' })
})

test('production has neither scenarios nor demo users', async () => {
  const keys = { keys: [await createSigningKey()] }
  const { d: _secret, ...publicKey } = keys.keys[0] ?? {}
  const production = await openApp({
    NODE_ENV: 'production',
    SIGNING_KEYS: JSON.stringify(keys),
    ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
    JWKS: JSON.stringify({ keys: [publicKey] }),
  })
  const request = new Request(`${BASE_URL}/gate/scenario/normal`, { method: 'POST', headers: OWN })
  expect((await production.send(request)).status).toBe(404)
  const inspection = await production.send(new Request(`${BASE_URL}/trpc/gate.inspect`))
  expect(await inspection.json()).toMatchObject({ result: { data: { hasScenarios: false } } })
  const demo = await production.send(new Request(`${BASE_URL}/trpc/demo`))
  expect(await demo.json()).toEqual({ result: { data: null } })
  await production.close()
})
