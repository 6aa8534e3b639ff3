import { AuthError } from '@sallyport/core'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cookieWith, createScene, pageRequest, type Scene } from './scene.ts'

let scene: Scene
let userId: string
beforeAll(async () => {
  scene = await createScene()
  userId = (await scene.auth.createUser()).userId
})
beforeEach(() => {
  scene.endpoint = 'up'
  scene.asked.length = 0
  scene.errors.length = 0
})
afterAll(() => scene.close())

const signIn = () => scene.auth.signIn({ userId })

/** Returns a request of a browser without a JWT, which needs the token endpoint. */
const withoutJwt = async () => cookieWith('missing', scene, await signIn())

describe('the token endpoint', () => {
  test('is called once for a request, for all parts of the page', async () => {
    const request = pageRequest(await withoutJwt())
    const pages = await Promise.all(Array.from({ length: 50 }, () => scene.serverAuth(request)))
    expect(new Set(pages).size).toBe(1)
    expect(scene.asked).toHaveLength(1)
  })

  test("is called once for a request's headers, in frameworks that expose only headers", async () => {
    const { headers } = pageRequest(await withoutJwt())
    const pages = await Promise.all(Array.from({ length: 50 }, () => scene.serverAuth(headers)))
    expect(new Set(pages).size).toBe(1)
    expect(scene.asked).toHaveLength(1)
    expect(pages[0]?.state).toMatchObject({ status: 'authenticated', userId })
  })

  test("is called for headers that have a member named headers, as Next.js's do", async () => {
    class HeadersAdapter extends Headers {
      readonly headers = {}
    }
    const page = await scene.serverAuth(new HeadersAdapter({ cookie: await withoutJwt() }))
    expect(page.state.status).toBe('authenticated')
  })
})

describe('no request is sent', () => {
  test.each([
    ['no cookie', null],
    ["another site's cookies", 'theme=dark; service.jwtx=1'],
    ['empty cookies', 'service.jwt=; service.session='],
  ])('for a browser with %s: it is not signed in', async (_what, cookie) => {
    const page = await scene.serverAuth(pageRequest(cookie))
    expect([page.state, page.reason, page.setCookies]).toEqual([{ status: 'unauthenticated' }, null, []])
    expect(scene.asked).toEqual([])
  })

  test('for a POST of another site: browsers send it without cookies, so the user is unknown', async () => {
    const init = { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } }
    const page = await scene.serverAuth(pageRequest(null, init))
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'TOKEN_MISSING'])
  })

  test.each([
    ['a link from another site', { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['a POST of a page of the app', { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } }],
  ])('for %s without cookies, which would come with all cookies', async (_what, init) => {
    expect((await scene.serverAuth(pageRequest(null, init))).state).toEqual({ status: 'unauthenticated' })
  })

  test('for a valid JWT without a session cookie', async () => {
    const { token } = await signIn()
    const request = () => pageRequest(`service.jwt=${token}`)
    expect((await scene.serverAuth(request())).state.status).toBe('authenticated')
    scene.auth.clock.advance(895)
    expect((await scene.serverAuth(request())).state).toMatchObject({ status: 'authenticated', expiresIn: 5 })
    scene.auth.clock.advance(5)
    const page = await scene.serverAuth(request())
    expect([page.state, page.reason]).toEqual([{ status: 'unauthenticated' }, 'SESSION_NOT_FOUND'])
    expect(scene.asked).toEqual([])
  })

  test("for two cookies of one name, which isn't a sign-out", async () => {
    const session = await signIn()
    const page = await scene.serverAuth(pageRequest(`${session.cookie}; service.session=planted.secret`))
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'COOKIE_CONFLICT'])
    expect(await scene.me(page)).toBe('COOKIE_CONFLICT')
    expect(scene.asked).toEqual([])
  })

  test("for a page in another site's frame", async () => {
    const headers = { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'iframe' }
    const page = await scene.serverAuth(pageRequest(await withoutJwt(), { headers }))
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'ORIGIN_REJECTED'])
    expect(scene.asked).toEqual([])
  })

  test.each([
    ['a prefetch', { headers: { 'sec-purpose': 'prefetch' } }],
    ['a prerendering', { headers: { 'sec-purpose': 'prefetch;prerender' } }],
    ['a prefetch of an old browser', { headers: { purpose: 'Prefetch' } }],
    ['a prefetch of another old browser', { headers: { 'x-moz': 'prefetch' } }],
    ['HEAD', { method: 'HEAD', headers: { 'sec-fetch-site': 'same-origin' } }],
  ])('for a new JWT by %s; a present one is used', async (_what, init) => {
    const page = await scene.serverAuth(pageRequest(await withoutJwt(), init))
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'TOKEN_MISSING'])
    const { cookie } = await signIn()
    expect((await scene.serverAuth(pageRequest(cookie, init))).state.status).toBe('authenticated')
    expect(scene.asked).toEqual([])
  })

  test("if rotation could change a secret that headers alone can't pass to the browser", async () => {
    const rotating = await createScene('in this process', { session: { rotateSessionToken: true } })
    try {
      const cookie = await cookieWith('missing', rotating, await rotating.auth.signIn())
      const page = await rotating.serverAuth(pageRequest(cookie).headers)
      expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'TOKEN_MISSING'])
      expect(rotating.asked).toEqual([])
    } finally {
      await rotating.close()
    }
  })
})

test('a link from another site keeps the user signed in', async () => {
  const headers = { 'sec-fetch-site': 'cross-site' }
  const page = await scene.serverAuth(pageRequest(await withoutJwt(), { headers }))
  expect(page.state.status).toBe('authenticated')
})

test("a session that another tab has started replaces the JWT's", async () => {
  const [former, current] = [await signIn(), await signIn()]
  const page = await scene.serverAuth(
    pageRequest(`service.jwt=${former.token}; service.session=${current.sessionCookie}`),
  )
  expect(page.state).toMatchObject({ status: 'authenticated', sessionId: current.sessionId })
  expect(scene.asked).toHaveLength(1)
})

test('a session renewal is passed on together with the JWT, and both are in the headers', async () => {
  const cookie = await withoutJwt()
  scene.auth.clock.advance(2 * 24 * 60 * 60)
  const page = await scene.serverAuth(pageRequest(cookie))
  expect(page.setCookies.map((setCookie) => setCookie.split('=')[0])).toEqual([
    'service.jwt',
    'service.session',
  ])
  const pairs = page.setCookies.map((setCookie) => setCookie.split(';')[0])
  expect(page.headers.get('cookie')).toBe(['theme=dark', ...pairs].join('; '))
  expect(page.headers.get('accept-language')).toBe('en')
})

test('a rotated secret is passed on, and is the one in the headers', async () => {
  const rotating = await createScene('in this process', { session: { rotateSessionToken: true } })
  try {
    const session = await rotating.auth.signIn()
    const cookie = await cookieWith('missing', rotating, session)
    rotating.auth.clock.advance(60)
    const page = await rotating.serverAuth(pageRequest(cookie))
    const [, rotated = ''] = page.setCookies
    expect(rotated).toMatch(/^service\.session=/)
    expect(page.headers.get('cookie')).toContain(rotated.split(';')[0])
    expect(page.headers.get('cookie')).not.toContain(session.sessionCookie)
  } finally {
    await rotating.close()
  }
})

test('while the keys are unreachable, the user is unknown, and no unverifiable JWT is requested', async () => {
  const [own] = scene.auth.config.issuers
  const jwks = {
    ...own.jwks,
    ready: () => Promise.reject(new AuthError('KEYS_UNAVAILABLE')),
    findKey: () => Promise.reject(new AuthError('KEYS_UNAVAILABLE')),
  }
  const [token, asked] = countingHandler()
  const config = { ...scene.auth.config, issuers: [{ ...own, jwks }] } as const
  const keyless = createServerAuth({ config: { ...config, identityCache: noCache }, token })
  for (const cookie of [(await signIn()).cookie, await withoutJwt()]) {
    const page = await keyless(pageRequest(cookie))
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'KEYS_UNAVAILABLE'])
  }
  expect(asked()).toBe(0)
})

const noCache = { get: () => undefined, set: () => {}, size: 0 }

function countingHandler(): [(request: Request) => Promise<Response>, () => number] {
  let count = 0
  return [
    (request) => {
      count++
      return scene.auth.handler(request)
    },
    () => count,
  ]
}

describe('with bearer transport', () => {
  let bearer: Scene
  beforeAll(async () => {
    bearer = await createScene('in this process', { bearer: true })
  })
  afterAll(() => bearer.close())

  test("the header's JWT replaces the cookies, and no other one is requested", async () => {
    const session = await bearer.auth.signIn()
    const headers = { authorization: `Bearer ${session.token}` }
    const request = () => pageRequest(session.cookie, { headers })
    expect((await bearer.serverAuth(request())).state.status).toBe('authenticated')
    bearer.auth.clock.advance(900)
    const page = await bearer.serverAuth(request())
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'TOKEN_EXPIRED'])
    expect(bearer.asked).toEqual([])
  })
})

describe('a failure', () => {
  // Reports are limited for each configuration.
  beforeAll(async () => {
    await scene.close()
    scene = await createScene()
    userId = (await scene.auth.createUser()).userId
  })

  test('is reported, and the user is unknown', async () => {
    scene.endpoint = 'down'
    const page = await scene.serverAuth(pageRequest(await withoutJwt()))
    expect(page.state).toEqual({ status: 'unknown' })
    expect(scene.errors).toEqual([new TypeError('fetch failed')])
  })

  test('is reported when the endpoint takes too long', async () => {
    scene.endpoint = 'slow'
    await scene.serverAuth(pageRequest(await withoutJwt()))
    expect(scene.errors).toEqual([
      new Error('The token endpoint did not respond within 1 ms. Increase timeoutMs'),
    ])
  })
})

describe('rejects an invalid setting at once', () => {
  test.each([
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ timeoutMs: 2 ** 31 }, /timeoutMs/],
    [{ token: { url: 'auth.example.com' } }, /token\.url/],
    [{ token: { url: 'http://auth.example.com' } }, /token\.url/],
    [{ token: { url: 'ftp://auth.example.com' } }, /token\.url/],
    [{ token: { url: 'https://auth.example.com/?a=b' } }, /token\.url/],
    [{ token: { url: 'https://auth.example.com/#a' } }, /token\.url/],
  ])('%j', (options, message) => {
    const { config, handler: token } = scene.auth
    expect(() => createServerAuth({ config, token, ...options })).toThrow(message)
  })
})
