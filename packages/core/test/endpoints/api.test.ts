import { isAuthError, isEndpointError } from '@sallyport/core'
import { CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from '../support/code-of.ts'
import { get, post } from '../support/requests.ts'
import type { MadeUser } from '../support/user-maker.ts'

const auth = await createTestAuth({ trustedProxies: ['10.0.0.1'] })
const { api } = auth
afterAll(() => auth.close())

let user: MadeUser
let ada: TestSession
let root: TestSession
beforeEach(async () => {
  user = await auth.createUser()
  ada = await auth.signIn(user)
  root = await auth.signIn({ role: 'admin' })
})

/** Returns a request to a route of the app, from a browser with these cookies. */
const requestOf = (cookie: string, headers: Record<string, string> = {}) =>
  new Request('http://localhost:3000/settings', {
    method: 'POST',
    headers: { [CLIENT_HEADER]: '1', ...(cookie !== '' && { cookie }), ...headers },
  })

test('a method returns the body of its endpoint', async () => {
  const request = requestOf(ada.cookie)
  const overHttp = await auth.handler(get(ENDPOINTS.getSession.path, { cookie: ada.cookie }))
  expect(await api.getSession({ request })).toEqual(await overHttp.json())
  expect(await api.listSessions({ request })).toMatchObject({ sessions: [{ id: ada.sessionId }] })
  expect(await api.updateUser({ request, name: 'Countess' })).toMatchObject({ user: { name: 'Countess' } })
  expect(await api.jwks({ request })).toEqual(auth.definition.signingKeys.publicJwks)
  expect(await api.listUsers({ request: requestOf(root.cookie), limit: 1 })).toMatchObject({
    users: [{ banned: false }],
  })
})

describe('a method that may set cookies returns the headers that set them', () => {
  test('with the headers of its endpoint', async () => {
    const input = { email: user.email, password: TEST_PASSWORD }
    const { headers, ...body } = await api.signInEmail({ ...input, request: requestOf('') })
    expect(body).toMatchObject({ userId: user.userId, expiresIn: 900 })
    expect(headers.getSetCookie().map((cookie) => cookie.split('=')[0])).toEqual([
      'service.jwt',
      'service.session',
      'service.device',
    ])
    const signedOut = await api.signOut({ request: requestOf(ada.cookie) })
    const overHttp = await auth.handler(post(ENDPOINTS.signOut.path, {}, { cookie: ada.cookie }))
    expect(signedOut.headers.getSetCookie()).toEqual(overHttp.headers.getSetCookie())
  })

  test('without showing a secret if the whole result is serialized', async () => {
    const answer = await api.token({ request: requestOf(ada.cookie) })
    expect(answer.headers.getSetCookie()).toHaveLength(1)
    expect(JSON.stringify(answer)).not.toMatch(/ey[\w-]+\.ey/)
    expect(JSON.stringify(answer)).toContain('"headers":{}')
  })

  test('any other method returns no headers', async () => {
    expect(await api.revokeOtherSessions({ request: requestOf(ada.cookie) })).toEqual({ revoked: 0 })
    expect(await api.getSession({ request: requestOf(ada.cookie) })).not.toHaveProperty('headers')
  })
})

test('throws a rejection as an error with status and code, recognized by its brand', async () => {
  const rejected = await api.getSession({ request: requestOf('') }).catch((error: unknown) => error)
  expect(isAuthError(rejected)).toBe(true)
  expect(rejected).toMatchObject({
    status: 401,
    reason: 'TOKEN_MISSING',
    message: 'No token was sent. Sign in first.',
  })
  const invalid = await api
    .updateUser({ request: requestOf(ada.cookie), name: '' })
    .catch((error: unknown) => error)
  expect(isEndpointError(invalid)).toBe(true)
  expect(invalid).toMatchObject({ status: 400, code: 'INVALID_INPUT', fields: ['name'] })
})

test('excludes only request and remoteAddress from the input', async () => {
  const request = requestOf(ada.cookie)
  expect(await api.revokeOtherSessions({ request, remoteAddress: '192.0.2.7' })).toEqual({ revoked: 0 })
  expect(await codeOf(api.revokeOtherSessions({ request, ...{ sessionId: 'x' } }))).toBe('INVALID_INPUT')
})
