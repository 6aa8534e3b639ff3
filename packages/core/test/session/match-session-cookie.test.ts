import { defineAuthConfig, identify, staticJwks } from '@sallyport/core'
import { createAuth, defineAuth, issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { expect, test } from 'vitest'
import { hashSecret } from '../../src/session/secret.ts'
import { incoming } from '../support/incoming.ts'
import { reasonOf } from '../support/reason-of.ts'

const signingKeys = parseSigningKeys({ keys: [await createSigningKey()] })
const shared = { baseUrl: 'http://localhost:3000', jwks: staticJwks(JSON.stringify(signingKeys.publicJwks)) }
const own = defineAuthConfig(shared)
const bound = defineAuthConfig({ ...shared, sessionCookie: 'sid' })
const ownWithBearer = defineAuthConfig({ ...shared, bearer: true })
const withBearer = defineAuthConfig({ ...shared, sessionCookie: 'sid', bearer: true })

const session = { id: 's1', userId: 'ada', expiresAt: new Date(Date.now() + 60_000) }
const issue = async (cookie: string | null, payload = {}) => {
  const claim = cookie !== null && { cookieHash: await hashSecret(cookie) }
  return (await issueJwt({ ...session, ...claim }, { key: signingKeys.active, config: own, payload })).token
}
const forAda = await issue('ada.sig+/=')
const unbound = await issue(null)

test.each([
  ['bound, with its cookie', bound, forAda, 'sid=ada.sig%2B%2F%3D', 'accepted'],
  ['bound, with its cookie in another spelling', bound, forAda, 'sid=ada.sig+/=', 'accepted'],
  ['bound, with its cookie twice', bound, forAda, 'sid=ada.sig+/=; sid=ada.sig%2B/=', 'accepted'],
  ['bound, with two cookies', bound, forAda, 'sid=ada.sig+/=; sid=bob.sig', 'COOKIE_CONFLICT'],
  ['bound, with another cookie', bound, forAda, 'sid=bob.sig', 'TOKEN_INVALID'],
  ['bound, without a cookie', bound, forAda, '', 'TOKEN_INVALID'],
  ["bound, with Sallyport's own session cookie", bound, forAda, 'service.session=s1.x', 'TOKEN_INVALID'],
  ['unbound, with a cookie', bound, unbound, 'sid=ada.sig', 'TOKEN_INVALID'],
  ['unbound, without a cookie', bound, unbound, '', 'TOKEN_INVALID'],
  ['bound, in a process that has no such setting', own, forAda, '', 'TOKEN_INVALID'],
  ['bound, in such a process with its own cookie', own, forAda, 'service.session=s1.x', 'TOKEN_INVALID'],
  ['unbound, in such a process', own, unbound, 'service.session=s1.x', 'accepted'],
  [
    'unbound, in such a process with the cookie of another session',
    own,
    unbound,
    'service.session=s2.x',
    'TOKEN_INVALID',
  ],
] as const)('%s', async (_name, config, jwt, cookies, reason) => {
  const request = incoming({ cookie: `service.jwt=${jwt}; ${cookies}` })
  expect(await reasonOf(identify(request, 'query', config))).toBe(reason)
})

test.each([
  ['bound, without bearer transport', bound, forAda, '', 'TOKEN_MISSING'],
  ['bound, without its cookie', withBearer, forAda, '', 'TOKEN_INVALID'],
  ['bound, beside another cookie', withBearer, forAda, 'sid=bob.sig', 'TOKEN_INVALID'],
  ['bound, in a process that has no such setting', ownWithBearer, forAda, '', 'TOKEN_INVALID'],
  ['unbound', withBearer, unbound, '', 'accepted'],
] as const)('a bearer token: %s', async (_name, config, jwt, cookie, reason) => {
  const request = incoming({ authorization: `Bearer ${jwt}`, cookie })
  expect(await reasonOf(identify(request, 'query', config))).toBe(reason)
})

test.each([
  ['of its session', 's1.x', 'accepted'],
  ['of another session', 's2.x', 'TOKEN_INVALID'],
  ['that says there is none', 'none', 'accepted'],
])('a bearer token beside a session header %s', async (_name, sent, reason) => {
  const request = incoming({ authorization: `Bearer ${unbound}`, 'x-sallyport-session': sent })
  expect(await reasonOf(identify(request, 'query', ownWithBearer))).toBe(reason)
})

test('a session header replaces no cookie of another library', async () => {
  const request = incoming({ 'x-sallyport-session': 's1.x', cookie: `service.jwt=${forAda}` })
  expect(await reasonOf(identify(request, 'query', withBearer))).toBe('TOKEN_INVALID')
})

test("an app's own claims can't bind a JWT", async () => {
  const jwt = await issue(null, { cookieHash: await hashSecret('ada') })
  const request = incoming({ cookie: `service.jwt=${jwt}; sid=ada` })
  expect(await reasonOf(identify(request, 'query', bound))).toBe('TOKEN_INVALID')
})

test('auth endpoints reject a configuration in which another library signs users in', async () => {
  const { database, close } = await createTestAuth()
  const definition = defineAuth({ config: bound, signingKeys })
  await expect(createAuth(definition, database)).rejects.toThrow('sessionCookie is set')
  await close()
})
