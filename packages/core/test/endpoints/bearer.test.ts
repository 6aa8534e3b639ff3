import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'

const auth = await createTestAuth({ bearer: true })
afterAll(() => auth.close())

/** Calls an endpoint as a program with a token and the given headers. */
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
  ['without the header of the client package', {}],
  ['from a page of another site, which added the token itself', { origin: 'https://other.example' }],
  ['with two session cookies, which it ignores', { cookie: 'service.session=a.b; service.session=c.d' }],
])('accepts a bearer token alone at an endpoint that authorizes its caller: %s', async (_name, headers) => {
  expect(await call('/revoke-other-sessions', headers)).toBe('200')
  expect(await call('/session', headers, 'GET')).toBe('200')
})

test('still reads cookies at endpoints that anyone may call', async () => {
  expect(await call('/sign-out', { origin: 'https://other.example' })).toBe('403 ORIGIN_REJECTED')
})

test('ignores a bearer token if the transport is disabled', async () => {
  const closed = await createTestAuth()
  const { token } = await closed.signIn()
  const headers = { authorization: `Bearer ${token}`, origin: 'https://other.example' }
  const url = 'http://localhost:3000/api/auth/revoke-other-sessions'
  const response = await closed.handler(new Request(url, { method: 'POST', headers }))
  expect(await response.json()).toMatchObject({ code: 'ORIGIN_REJECTED' })
  await closed.close()
})
