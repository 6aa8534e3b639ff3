import { type AuthFailure, verifyJwt } from '@sallyport/core'
import { createAuth, type DefinePayload, defineAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { decodeJwt } from 'jose'
import { afterAll, describe, expect, test } from 'vitest'
import { cookieChanges, cookiesAfter, get, post } from '../support/requests.ts'

const auth = await createTestAuth({ session: { rotateSessionToken: true } })
afterAll(() => auth.close())
const { config, database } = auth
const ada = await auth.signIn()

/** The cookies that Ada's browser sends, with the latest secret. */
let cookieOfAda = ada.cookie

/** Refreshes in an app that adds these claims. */
async function refresh(definePayload: DefinePayload, cookie?: string) {
  const errors: unknown[] = []
  const onFailure = (failure: AuthFailure) => void errors.push(failure)
  const { signingKeys } = auth.definition
  const definition = defineAuth({ config: { ...config, onFailure }, signingKeys, definePayload })
  const options = { pruneEverySeconds: 0 }
  const { handler } = await createAuth(definition, database, options)
  const response = await handler(get(ENDPOINTS.token.path, { cookie: cookie ?? cookieOfAda }))
  if (cookie === undefined) cookieOfAda = cookiesAfter(cookieOfAda, response)
  const token = /service\.jwt=([^;]+)/.exec(response.headers.getSetCookie().join())?.[1] ?? null
  return { response, token, errors }
}

const claimsOf = (token: string | null) => decodeJwt(token ?? '')

describe('definePayload adds claims', () => {
  test.each<[string, DefinePayload, object]>([
    ['synchronously', () => ({ tenant: 'acme', plan: { seats: 3 } }), { tenant: 'acme', plan: { seats: 3 } }],
    ['later', async () => ({ tenant: 'acme' }), { tenant: 'acme' }],
    [
      'based on the session',
      ({ userId, sessionId }) => ({ a: `${userId} ${sessionId}` }),
      { a: `${ada.userId} ${ada.sessionId}` },
    ],
    ['in any language', () => ({ name: 'Ådä 🚪' }), { name: 'Ådä 🚪' }],
    ['none', () => ({}), {}],
  ])('%s', async (_name, definePayload, added) => {
    const { response, token } = await refresh(definePayload)
    expect(response.status).toBe(200)
    expect(claimsOf(token)).toMatchObject(added)
    expect(await verifyJwt(token ?? '', config)).toMatchObject({
      userId: ada.userId,
      sessionId: ada.sessionId,
    })
  })
})

describe("definePayload can't override built-in claims", () => {
  const now = Math.floor(auth.clock.now().getTime() / 1000)
  const ours = {
    iss: config.issuer,
    aud: config.audience,
    sub: ada.userId,
    iat: now,
    exp: now + 900,
    nbf: undefined,
    jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    sessionId: ada.sessionId,
    userId: ada.userId,
    version: expect.any(Number),
  }

  test.each<[keyof typeof ours, unknown]>([
    ['iss', 'https://evil.example'],
    ['aud', ['https://evil.example', config.audience]],
    ['sub', 'eve'],
    ['iat', 0],
    ['exp', 4_102_444_800],
    ['nbf', 4_102_444_800],
    ['jti', 'chosen'],
    ['sessionId', 'another'],
    ['userId', 'eve'],
    ['version', 'the latest'],
  ])('%s', async (name, value) => {
    const { token } = await refresh(() => ({ [name]: value, also: 'this' }))
    expect(claimsOf(token)).toEqual({ ...ours, also: 'this' })
    expect(await verifyJwt(token ?? '', config)).toMatchObject({
      userId: ada.userId,
      sessionId: ada.sessionId,
    })
  })

  test.each(Object.keys(ours))('keeps %s if it is undefined', async (name) => {
    const { token } = await refresh(() => ({ [name]: undefined }))
    expect(claimsOf(token)).toEqual(ours)
  })

  test('ignores a prototype', async () => {
    const { token } = await refresh(() => JSON.parse('{"__proto__":{"userId":"eve","exp":1},"also":"this"}'))
    const { iss, aud, sub, exp, userId, sessionId } = ours
    expect(claimsOf(token)).toMatchObject({ iss, aud, sub, exp, userId, sessionId, also: 'this' })
    expect({}).not.toHaveProperty('userId')
  })
})

describe("fails closed if the payload can't be issued: no token, and onFailure is called", () => {
  test.each<[string, DefinePayload]>([
    ['too large for a cookie', () => ({ text: 'x'.repeat(4_000) })],
    ['slightly too large', () => ({ text: 'x'.repeat(2_900) })],
    ["a number that JSON can't represent", () => ({ number: 1n })],
    ['a function', () => ({ toJSON: () => ({ userId: 'eve' }) })],
    [
      'a circle',
      () => {
        const circle: { self?: object } = {}
        circle.self = circle
        return circle
      },
    ],
    [
      'an error',
      () => {
        throw new Error('a bug of the app')
      },
    ],
    ['a rejected promise', () => Promise.reject(new Error('a bug of the app'))],
  ])('%s', async (_name, definePayload) => {
    const { response, token, errors } = await refresh(definePayload)
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ code: 'INTERNAL_ERROR', message: 'Something went wrong' })
    expect(token).toBeNull()
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(errors).toHaveLength(1)
  })
})

test('a sign-in whose definePayload fails creates no session and ends none', async () => {
  const { email, userId } = await auth.createUser()
  const here = await auth.signIn({ userId })
  const sessions = database.db.selectFrom('session').selectAll().where('userId', '=', userId)
  const before = await sessions.execute()
  const definition = {
    ...auth.definition,
    config: { ...config, onFailure: () => {} },
    definePayload: () => Promise.reject(new Error('a bug of the app')),
  }
  const { handler } = await createAuth(definition, database, { pruneEverySeconds: 0 })
  const body = { email, password: TEST_PASSWORD }
  const response = await handler(post(ENDPOINTS.signInEmail.path, body, { cookie: here.cookie }))
  expect(response.status).toBe(500)
  expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  expect(await sessions.execute()).toEqual(before)
})

test('definePayload receives the user and the session at sign-in', async () => {
  const { email, userId } = await auth.createUser()
  const received: unknown[] = []
  const definition = {
    ...auth.definition,
    definePayload: (session: object) => ({ tenant: received.push(session) }),
  }
  const { handler } = await createAuth(definition, database, { pruneEverySeconds: 0 })
  const response = await handler(post(ENDPOINTS.signInEmail.path, { email, password: TEST_PASSWORD }))
  const { sessionId } = await response.json()
  expect(received).toEqual([{ userId, sessionId }])
})
