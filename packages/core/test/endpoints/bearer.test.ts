import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'

const auth = await createTestAuth({ bearer: true })
afterAll(() => auth.close())

/** A call of a program that has a token, and whatever else it sends. */
async function call(path: string, headers: Record<string, string>, method = 'POST') {
  const { token } = await auth.signIn()
  const request = new Request(`http://localhost:3000/api/auth${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  const response = await auth.handler(request)
  return `${response.status} ${(await response.json()).code ?? ''}`.trim()
}

test.each<[string, Record<string, string>]>([
  ['without the header of our client', {}],
  ['from a page of another site, which put the token there itself', { origin: 'https://other.example' }],
  [
    'beside two session cookies, which count for nothing',
    { cookie: 'service.session=a.b; service.session=c.d' },
  ],
])('a bearer token is enough for an endpoint that authorizes its caller: %s', async (_name, headers) => {
  expect(await call('/revoke-other-sessions', headers)).toBe('200')
  expect(await call('/session', headers, 'GET')).toBe('200')
})

test('for what anyone may call the cookies count as ever', async () => {
  expect(await call('/sign-out', { origin: 'https://other.example' })).toBe('403 ORIGIN_REJECTED')
})

test('a bearer token is ignored if the transport is not enabled', async () => {
  const closed = await createTestAuth()
  const { token } = await closed.signIn()
  const headers = { authorization: `Bearer ${token}`, origin: 'https://other.example' }
  const url = 'http://localhost:3000/api/auth/revoke-other-sessions'
  const response = await closed.handler(new Request(url, { method: 'POST', headers }))
  expect(await response.json()).toMatchObject({ code: 'ORIGIN_REJECTED' })
  await closed.close()
})
