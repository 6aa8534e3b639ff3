import { type AuthConfig, defineAuthConfig } from '@sallyport/core'
import { readCredentials } from '@sallyport/core/internal/server'
import { describe, expect, test, vi } from 'vitest'
import { incoming } from '../support/incoming.ts'
import { reasonOf } from '../support/reason-of.ts'
import { createTokenGate } from '../support/token-gate.ts'

const { keySet } = await createTokenGate()
const cookiesOnly = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: keySet })
const withBearer = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: keySet, bearer: true })
const overHttps = defineAuthConfig({ baseUrl: 'https://app.example.com', jwks: keySet })

const read = (headers: Record<string, string>, config: AuthConfig) =>
  readCredentials(incoming(headers).header, config)

test('is empty without any credential', () => {
  expect(read({}, cookiesOnly)).toEqual({ transport: 'cookie', token: null, sessionCookie: null })
})

test('reads both cookies', () => {
  expect(read({ cookie: 'service.jwt=a.b.c; service.session=s1.secret' }, cookiesOnly)).toEqual({
    transport: 'cookie',
    token: 'a.b.c',
    sessionCookie: { sessionId: 's1', secret: 'secret' },
  })
})

describe('splits the session cookie at its first dot', () => {
  test.each([
    ['s1.secret', { sessionId: 's1', secret: 'secret' }],
    ['s1.sec.ret', { sessionId: 's1', secret: 'sec.ret' }],
    ['s1.', { sessionId: 's1', secret: '' }],
    ['.secret', { sessionId: '', secret: 'secret' }],
    ['.', { sessionId: '', secret: '' }],
    ['s1', { sessionId: 's1', secret: '' }],
  ])('%s', (value, sessionCookie) => {
    expect(read({ cookie: `service.session=${value}` }, cookiesOnly)).toMatchObject({ sessionCookie })
  })
})

test('over https the session cookie is read only under __Host-, which no subdomain can set', () => {
  expect(read({ cookie: 'service.session=s1.x' }, overHttps)).toMatchObject({ sessionCookie: null })
  expect(read({ cookie: '__Host-service.session=s1.x' }, overHttps)).toMatchObject({
    sessionCookie: { sessionId: 's1' },
  })
})

describe('without bearer transport', () => {
  test('an Authorization header is ignored', () => {
    const headers = { authorization: 'Bearer x.y.z', cookie: 'service.jwt=a.b.c' }
    expect(read(headers, cookiesOnly)).toMatchObject({ transport: 'cookie', token: 'a.b.c' })
    expect(read({ authorization: 'Bearer x.y.z' }, cookiesOnly)).toMatchObject({ token: null })
  })
})

describe('with bearer transport', () => {
  test.each(['Bearer x.y.z', 'bearer x.y.z', 'BEARER   x.y.z'])('reads the token of %j', (authorization) => {
    expect(read({ authorization }, withBearer)).toEqual({
      transport: 'bearer',
      token: 'x.y.z',
      sessionCookie: null,
    })
  })

  test('a bearer token makes the server ignore the cookies, including a conflict between them', () => {
    const cookie = 'service.jwt=a; service.jwt=b; service.session=s1.x'
    expect(read({ authorization: 'Bearer x.y.z', cookie }, withBearer)).toEqual({
      transport: 'bearer',
      token: 'x.y.z',
      sessionCookie: null,
    })
  })

  test.each(['Basic x.y.z', 'Bearer', 'Bearer ', 'Bearer x y', 'x.y.z', 'Bearerx.y.z', 'X Bearer x.y.z', ''])(
    'the header %j has no bearer token, so the cookies are read',
    (authorization) => {
      const headers = { authorization, cookie: 'service.jwt=a.b.c' }
      expect(read(headers, withBearer)).toMatchObject({ transport: 'cookie', token: 'a.b.c' })
    },
  )

  test('reads the cookies without the header', () => {
    expect(read({ cookie: 'service.jwt=a.b.c' }, withBearer)).toMatchObject({
      transport: 'cookie',
      token: 'a.b.c',
    })
  })
})

describe('the session header', () => {
  const COOKIES = 'service.jwt=a.b.c; service.session=s1.x'

  test.each([
    ['s2.secret', { sessionId: 's2', secret: 'secret' }],
    ['s2.sec.ret', { sessionId: 's2', secret: 'sec.ret' }],
    ['s2', { sessionId: 's2', secret: '' }],
    ['', { sessionId: '', secret: '' }],
    ['NONE', { sessionId: 'NONE', secret: '' }],
    // How a server combines two headers.
    ['s2.a, s3.b', { sessionId: 's2', secret: 'a, s3.b' }],
    ['none, s3.b', { sessionId: 'none, s3', secret: 'b' }],
    ['none', null],
  ])('%j replaces the session cookie, and the cookies are ignored', (value, sessionCookie) => {
    for (const cookie of [COOKIES, `${COOKIES}; ${COOKIES}`]) {
      const headers = { 'x-sallyport-session': value, cookie }
      expect(read(headers, withBearer)).toEqual({ transport: 'bearer', token: null, sessionCookie })
    }
  })

  test('is accepted with a bearer token', () => {
    const headers = { authorization: 'Bearer x.y.z', 'x-sallyport-session': 's2.secret', cookie: COOKIES }
    expect(read(headers, withBearer)).toEqual({
      transport: 'bearer',
      token: 'x.y.z',
      sessionCookie: { sessionId: 's2', secret: 'secret' },
    })
  })

  test.each(['s2.secret', 'none'])('is ignored without bearer transport: %s', (value) => {
    expect(read({ 'x-sallyport-session': value, cookie: COOKIES }, cookiesOnly)).toEqual({
      transport: 'cookie',
      token: 'a.b.c',
      sessionCookie: { sessionId: 's1', secret: 'x' },
    })
  })

  test('is ignored if the session cookie is that of another library', () => {
    const config = { ...withBearer, sessionCookie: 'other' }
    const headers = { 'x-sallyport-session': 's2.secret', cookie: 'service.jwt=a.b.c; other=%2B' }
    expect(read(headers, config)).toEqual({
      transport: 'cookie',
      token: 'a.b.c',
      sessionCookie: { sessionId: '', secret: '+' },
    })
    expect(read({ cookie: 'service.session=s1.x' }, config)).toMatchObject({ sessionCookie: null })
  })

  test('alone means no session if its value is `none`; a cookie names one', () => {
    expect(read({ cookie: 'service.session=none' }, withBearer)).toMatchObject({
      transport: 'cookie',
      sessionCookie: { sessionId: 'none', secret: '' },
    })
  })
})

test('a proof reads its own token, and a bearer token disables the cookies', () => {
  const readToken = vi.fn(() => 'token')
  const proof = { readToken, verify: () => Promise.reject(new Error('not called')) }
  const cookie = 'service.jwt=a; service.session=s1.x'
  const credentials = { token: 'token', sessionCookie: null }
  const config = { ...withBearer, proof }
  expect(read({ cookie }, config)).toEqual({ transport: 'cookie', ...credentials })
  expect(read({ cookie, authorization: 'Bearer x' }, config)).toEqual({ transport: 'bearer', ...credentials })
  expect(readToken.mock.calls).toEqual([[{ cookie, bearer: null }], [{ cookie, bearer: 'x' }]])
})

test.each(['service.jwt=a; service.jwt=b', 'service.session=a.b; service.session=c.d'])(
  'two cookies with one of the configured names are a conflict: %s',
  async (cookie) => {
    expect(await reasonOf((async () => read({ cookie }, cookiesOnly))())).toBe('COOKIE_CONFLICT')
  },
)
