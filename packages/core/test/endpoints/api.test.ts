import { isAuthError, isEndpointError } from '@sallyport/core'
import { CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from '../support/code-of.ts'
import { dumpTables } from '../support/dump-tables.ts'
import { get, post } from '../support/requests.ts'
import { createUserMaker, type MadeUser } from '../support/user-maker.ts'

const auth = await createTestAuth({ trustedProxies: ['10.0.0.1'] })
const { api } = auth
const makeUser = await createUserMaker(auth)
afterAll(() => auth.close())

let user: MadeUser
let ada: TestSession
let root: TestSession
beforeEach(async () => {
  user = await makeUser()
  ada = await auth.signIn(user)
  root = await auth.signIn(await makeUser('admin'))
})

/** A request of an app's own route, by a browser with these cookies. */
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
  test('those of its endpoint', async () => {
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

  test('in a form that shows no secret if the whole result is passed on', async () => {
    const answer = await api.token({ request: requestOf(ada.cookie) })
    expect(answer.headers.getSetCookie()).toHaveLength(1)
    expect(JSON.stringify(answer)).not.toMatch(/ey[\w-]+\.ey/)
    expect(JSON.stringify(answer)).toContain('"headers":{}')
  })

  test('any other has none', async () => {
    expect(await api.revokeOtherSessions({ request: requestOf(ada.cookie) })).toEqual({ revoked: 0 })
    expect(await api.getSession({ request: requestOf(ada.cookie) })).not.toHaveProperty('headers')
  })
})

describe('a method makes the checks of its endpoint', () => {
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  test.each([
    ['missing', 'TOKEN_MISSING', () => api.getSession({ request: requestOf('') })],
    ['another site', 'ORIGIN_REJECTED', () => api.getSession({ request: requestOf(ada.cookie, evil) })],
    ['another site', 'ORIGIN_REJECTED', () => api.signOut({ request: requestOf(ada.cookie, evil) })],
    [
      'a request without origin or header',
      'ORIGIN_REJECTED',
      () => api.revokeSessions({ request: requestOf(ada.cookie, { [CLIENT_HEADER]: '' }) }),
    ],
    [
      'two cookies of one name',
      'COOKIE_CONFLICT',
      () => api.getSession({ request: requestOf(`${ada.cookie}; service.session=x`) }),
    ],
    ['a user', 'ROLE_REQUIRED', () => api.listUsers({ request: requestOf(ada.cookie) })],
    [
      'an admin with a wrong input',
      'INVALID_INPUT',
      () => api.banUser({ request: requestOf(root.cookie), userId: '' }),
    ],
    [
      'a user with an input that is not taken',
      'INVALID_INPUT',
      () => api.updateUser({ request: requestOf(ada.cookie), ...{ role: 'admin' } }),
    ],
    [
      'a wrong password',
      'INVALID_CREDENTIALS',
      () => api.signInEmail({ request: requestOf(''), email: user.email, password: 'wrong password' }),
    ],
    [
      'an admin about themselves',
      'OWN_ACCOUNT',
      () => api.setRole({ request: requestOf(root.cookie), userId: root.userId, role: 'user' }),
    ],
  ])('of %s: %s, and nothing changes', async (_name, code, call) => {
    const before = await dumpTables(auth)
    expect(await codeOf(call())).toBe(code)
    expect(await dumpTables(auth)).toEqual(before)
  })

  test('distinguishes an expired JWT, an ended session, and a ban', async () => {
    const { cookie } = await auth.expireJwt(ada)
    expect(await codeOf(api.getSession({ request: requestOf(cookie) }))).toBe('TOKEN_EXPIRED')
    await auth.ban(ada)
    expect(await codeOf(api.getSession({ request: requestOf(ada.cookie) }))).toBe('ACCOUNT_BANNED')
    await auth.revoke(ada)
    expect(await codeOf(api.getSession({ request: requestOf(ada.cookie) }))).toBe('SESSION_NOT_FOUND')
  })

  test('a database that is gone is 503 for every call', async () => {
    const gone = await createTestAuth()
    const { cookie } = await gone.signIn({ role: 'admin' })
    await gone.close()
    const request = requestOf(cookie)
    const { api } = gone
    for (const call of [
      () => api.getSession({ request }),
      () => api.listUsers({ request }),
      () => api.signOut({ request }),
      () => api.signInEmail({ request, email: user.email, password: TEST_PASSWORD }),
    ])
      expect(await codeOf(call())).toBe('SESSIONS_UNAVAILABLE')
  })
})

test('a rejection is an error with status and code, and is recognized by its brand', async () => {
  const rejected = await api.getSession({ request: requestOf('') }).catch((error: unknown) => error)
  expect(isAuthError(rejected)).toBe(true)
  expect(rejected).toMatchObject({ status: 401, reason: 'TOKEN_MISSING', message: 'No token was sent' })
  const invalid = await api
    .updateUser({ request: requestOf(ada.cookie), name: '' })
    .catch((error: unknown) => error)
  expect(isEndpointError(invalid)).toBe(true)
  expect(invalid).toMatchObject({ status: 400, code: 'INVALID_INPUT', fields: ['name'] })
})

test('request and remoteAddress are not part of the input, and everything else is', async () => {
  const request = requestOf(ada.cookie)
  expect(await api.revokeOtherSessions({ request, remoteAddress: '192.0.2.7' })).toEqual({ revoked: 0 })
  expect(await codeOf(api.revokeOtherSessions({ request, ...{ sessionId: 'x' } }))).toBe('INVALID_INPUT')
})

describe('the address of the client is', () => {
  const addressOf = async (remoteAddress?: string, headers: Record<string, string> = {}) => {
    const input = { email: user.email, password: TEST_PASSWORD }
    const request = requestOf('', headers)
    const { sessionId } = await api.signInEmail({ ...input, request, remoteAddress })
    const { sessions } = await api.listUserSessions({ request: requestOf(root.cookie), userId: user.userId })
    return sessions.find(({ id }) => id === sessionId)?.address
  }

  test.each([
    ['that of the connection', '192.0.2.7', {}, '192.0.2.7'],
    ['not what an untrusted client sends', '192.0.2.7', { 'x-forwarded-for': '198.51.100.1' }, '192.0.2.7'],
    ['what our proxy says', '10.0.0.1', { 'x-forwarded-for': '198.51.100.1' }, '198.51.100.1'],
    ['unknown if it was not given', undefined, { 'x-forwarded-for': '198.51.100.1' }, null],
  ])('%s', async (_name, remoteAddress, headers, address) => {
    expect(await addressOf(remoteAddress, headers)).toBe(address)
  })
})
