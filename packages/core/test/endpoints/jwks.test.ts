import { staticJwks } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'
import { verifyJws } from '../../src/jwt/verify-jws.ts'
import { reasonOf } from '../support/reason-of.ts'
import { cookieChanges, get } from '../support/requests.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

test("publishes keys that verify the server's JWTs, and no private keys", async () => {
  const response = await auth.handler(get(ENDPOINTS.jwks.path))
  expect(response.status).toBe(200)
  const jwks = await response.json()
  expect(jwks).toEqual({
    keys: [
      {
        kty: 'OKP',
        crv: 'Ed25519',
        alg: 'Ed25519',
        use: 'sig',
        kid: auth.definition.signingKeys.active.kid,
        x: expect.any(String),
      },
    ],
  })
  const { token } = await auth.signIn()
  expect(await reasonOf(verifyJws(token, staticJwks(jwks), { typ: 'at+jwt' }))).toBe('accepted')
})

test('responds to every origin, signed in or not, and sets no cookies', async () => {
  const { cookie } = await auth.signIn()
  const anonymous = await (await auth.handler(get(ENDPOINTS.jwks.path))).text()
  for (const headers of [
    { cookie },
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', cookie },
  ]) {
    const response = await auth.handler(get(ENDPOINTS.jwks.path, headers))
    expect(await response.text()).toBe(anonymous)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  }
})
