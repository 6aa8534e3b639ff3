import { createAuth, defineEndpoint } from '@sallyport/core/auth'
import { AUTH_PATH, ENDPOINTS, MAX_PAYLOAD_BYTES } from '@sallyport/core/internal/protocol'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'
import { cookieChanges, get, post } from '../support/requests.ts'

const everyPlugin = await startEveryPlugin()

const cause = new Error('SELECT password FROM account')
const broken = defineEndpoint({
  method: 'POST',
  path: '/broken',
  origin: null,
  caller: 'anyone',
  input: z.strictObject({ a: z.string(), b: z.object({ c: z.number() }) }),
  output: z.object({}),
  run: () => Promise.reject(cause),
})
const fits = { a: '', b: { c: 1 } }
const echo = defineEndpoint({
  method: 'GET',
  path: '/echo',
  caller: 'anyone',
  input: z.unknown(),
  output: z.object({ input: z.unknown() }),
  run: async (input) => ({ body: { input } }),
})
const reported: unknown[] = []
const app = await createTestAuth({
  onFailure: ({ cause }) => void reported.push(cause),
  allowedOrigins: ['https://admin.example.com'],
  emailPassword: everyPasswordOption,
  plugins: [...everyPlugin, { id: 'test', endpoints: { broken, echo } }],
})
const owner = await app.createUser()
afterAll(() => app.close())

const auth = await createAuth(app.definition, app.database, { pruneEverySeconds: 0 })
const codeOf = async (response: Response) => (await response.json()).code

const everyEndpoint = Object.values(ENDPOINTS).map(({ method, path }) => [method, path] as const)
const endpoints = [
  ['GET', ENDPOINTS.token.path],
  ['GET', ENDPOINTS.jwks.path],
  ['POST', ENDPOINTS.signOut.path],
  ['POST', ENDPOINTS.revokeUserSession.path],
  ['POST', ENDPOINTS.signUpEmail.path],
  ['POST', ENDPOINTS.signInEmail.path],
] as const

describe('404', () => {
  test.each([
    '/api/auth',
    '/api/auth/',
    '/api/auth/unknown',
    '/api/auth/sign-out/',
    '/api/auth//sign-out',
    '/api/auth/SIGN-OUT',
    '/api/auth/sign-out/extra',
    '/api/auth/constructor',
    '/api/auth/__proto__',
    '/sign-out',
    '/',
  ])('%s', async (path) => {
    for (const method of ['GET', 'POST']) {
      const response = await auth.handler(new Request(`http://localhost:3000${path}`, { method }))
      expect(response.status).toBe(404)
      expect(await codeOf(response)).toBe('NOT_FOUND')
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    }
  })
})

test.each(everyEndpoint)('%s %s rejects other methods and lists the allowed ones', async (allowed, path) => {
  const ada = await app.signIn()
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    if (method === allowed) continue
    const headers = { cookie: ada.cookie, 'x-sallyport': '1' }
    const response = await auth.handler(
      new Request(`http://localhost:3000${AUTH_PATH}${path}`, { method, headers }),
    )
    expect(response.status, method).toBe(405)
    expect(response.headers.get('allow')).toBe(`${allowed}, OPTIONS`)
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
  }
  expect(await app.database.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
})

test.each(everyEndpoint)(
  '%s %s responds with JSON that caches may not store, with a Vary header',
  async (method, path) => {
    const requests = [get(path), post(path, {}), new Request(get(path), { headers: {} })]
    for (const request of requests) {
      const response = await auth.handler(request)
      expect(response.headers.get('cache-control'), `${method} ${response.status}`).toBe('no-store')
      expect(response.headers.get('vary')).toBe('Origin, Cookie')
      expect(response.headers.get('content-type')).toBe('application/json')
    }
  },
)

describe('CORS', () => {
  test.each(everyEndpoint)('a preflight of %s %s succeeds only for a listed origin', async (method, path) => {
    const preflight = (origin: string) =>
      auth.handler(
        new Request(`http://localhost:3000${AUTH_PATH}${path}`, {
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': method },
        }),
      )
    const listed = await preflight('https://admin.example.com')
    expect(listed.status).toBe(204)
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://admin.example.com')
    expect(listed.headers.get('access-control-allow-credentials')).toBe('true')
    const foreign = await preflight('https://evil.example')
    expect(foreign.status).toBe(403)
    expect(foreign.headers.has('access-control-allow-origin')).toBe(false)
  })

  test.each([
    ['a success', get(ENDPOINTS.jwks.path, { origin: 'https://admin.example.com' }), 200],
    ['a rejection', get(ENDPOINTS.token.path, { origin: 'https://admin.example.com' }), 401],
    ["a path that doesn't exist", get('/unknown', { origin: 'https://admin.example.com' }), 404],
  ])('%s can be read by a listed origin', async (_name, request, status) => {
    const response = await auth.handler(request)
    expect(response.status).toBe(status)
    expect(response.headers.get('access-control-allow-origin')).toBe('https://admin.example.com')
  })

  test("a foreign origin can't read any response", async () => {
    const response = await auth.handler(get(ENDPOINTS.jwks.path, { origin: 'https://evil.example' }))
    expect(response.status).toBe(200)
    expect(response.headers.has('access-control-allow-origin')).toBe(false)
  })
})

describe('a request from an origin that may not use cookies is 403', () => {
  const foreign = [
    ['a foreign site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    [
      'a foreign site of the same domain',
      { origin: 'https://evil.localhost', 'sec-fetch-site': 'same-site' },
    ],
    ['a sandboxed frame', { origin: 'null' }],
    ['a foreign form in an old browser', { origin: 'https://evil.example' }],
    ['an image in an old browser', { 'x-sallyport': '' }],
  ] as const
  const guarded = endpoints.filter(([, path]) => path !== ENDPOINTS.jwks.path)

  test.each(
    guarded.flatMap(([method, path]) => foreign.map(([name, headers]) => ({ method, path, name, headers }))),
  )('$method $path from $name, with and without cookies', async ({ method, path, headers }) => {
    const ada = await app.signIn({ userId: owner.userId })
    for (const cookie of [{}, { cookie: ada.cookie }]) {
      const request =
        method === 'GET' ? get(path, { ...headers, ...cookie }) : post(path, {}, { ...headers, ...cookie })
      const response = await auth.handler(request)
      expect(response.status).toBe(403)
      expect(await codeOf(response)).toBe('ORIGIN_REJECTED')
      expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    }
    expect(await app.database.sessions.findSession(ada)).not.toBeNull()
  })
})

describe('two cookies with one name are 401 COOKIE_CONFLICT, and never sign the user out', () => {
  test.each([
    ...endpoints
      .filter(([, path]) => path !== ENDPOINTS.jwks.path)
      .map(([method, path]) => [method, path, 'service.session'] as const),
    ['POST', ENDPOINTS.revokeUserSession.path, 'service.jwt'] as const,
  ])('%s %s with two of %s', async (method, path, name) => {
    const ada = await app.signIn({ userId: owner.userId })
    const cookie = `${ada.cookie}; ${name}=x`
    const response = await auth.handler(method === 'GET' ? get(path, { cookie }) : post(path, {}, { cookie }))
    expect(response.status).toBe(401)
    expect(await codeOf(response)).toBe('COOKIE_CONFLICT')
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await app.database.sessions.findSession(ada)).not.toBeNull()
  })
})

describe('a body', () => {
  const send = (body: BodyInit, headers: Record<string, string> = {}) =>
    auth.handler(
      new Request(`http://localhost:3000${AUTH_PATH}${ENDPOINTS.signOut.path}`, {
        method: 'POST',
        headers: { 'x-sallyport': '1', 'content-type': 'application/json', ...headers },
        body,
        // Node requires this for a streamed body.
        ...(body instanceof ReadableStream && { duplex: 'half' }),
      }),
    )

  function streamOf(bytes: number, onPull: () => void = () => {}): ReadableStream<Uint8Array> {
    let left = bytes
    return new ReadableStream({
      pull(controller) {
        onPull()
        const chunk = new Uint8Array(Math.min(left, 16_384)).fill(32)
        left -= chunk.length
        if (chunk.length > 0) controller.enqueue(chunk)
        if (left === 0) controller.close()
      },
    })
  }

  test('at the size limit is read', async () => {
    expect((await send('{}'.padStart(MAX_PAYLOAD_BYTES))).status).toBe(200)
  })

  test('one byte over the limit is 413', async () => {
    const response = await send('{}'.padStart(MAX_PAYLOAD_BYTES + 1))
    expect(response.status).toBe(413)
    expect(await codeOf(response)).toBe('PAYLOAD_TOO_LARGE')
  })

  test('is measured in bytes, not characters', async () => {
    expect((await send(`"${'é'.repeat(MAX_PAYLOAD_BYTES / 2)}"`)).status).toBe(413)
  })

  test('over the limit without content-length is also 413, and is not read to its end', async () => {
    let pulls = 0
    const response = await send(streamOf(100 * MAX_PAYLOAD_BYTES, () => pulls++))
    expect(response.status).toBe(413)
    expect(pulls).toBeLessThan(10)
  })

  test('over the limit is also 413 if the app has a clone of it that it does not read', async () => {
    const [body, clone] = streamOf(2 * MAX_PAYLOAD_BYTES).tee()
    expect((await send(body)).status).toBe(413)
    await clone.cancel()
  })

  test('with a false content-length is also 413', async () => {
    const response = await send(streamOf(2 * MAX_PAYLOAD_BYTES), { 'content-length': '2' })
    expect(response.status).toBe(413)
  })

  test('that breaks off is 400, is not reported, and ends no session', async () => {
    const stream = new ReadableStream({
      start: (controller) => controller.error(new Error('connection reset')),
    })
    const response = await send(stream)
    expect(response.status).toBe(400)
    expect(await codeOf(response)).toBe('INVALID_INPUT')
    expect(reported).toEqual([])
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'text/json',
    '',
  ])('of type %j is 415', async (type) => {
    const response = await send('{}', { 'content-type': type })
    expect(response.status).toBe(415)
    expect(await codeOf(response)).toBe('UNSUPPORTED_MEDIA_TYPE')
  })

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON ;charset=utf-8'])(
    'of type %j is read',
    async (type) => {
      expect((await send('{}', { 'content-type': type })).status).toBe(200)
    },
  )

  test.each(['{', 'null x', "{'a':1}", 'undefined', '\ufeff\ufeff{}'])(
    "that isn't JSON is 400: %j",
    async (body) => {
      const response = await send(body)
      expect(response.status).toBe(400)
      expect(await codeOf(response)).toBe('INVALID_INPUT')
    },
  )

  test('that is invalid is 400 with the names of the invalid fields', async () => {
    const fieldsOf = async (body: unknown) =>
      (await (await auth.handler(post('/broken', body))).json()).fields
    expect(await fieldsOf(undefined)).toEqual(['a', 'b'])
    expect(await fieldsOf({ b: { c: '1' } })).toEqual(['a', 'b.c'])
    expect(await fieldsOf({ a: '', b: { c: 1 }, role: 'admin', x: 1 })).toEqual(['role', 'x'])
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x${i}`, i]))
    expect(await fieldsOf(many)).toEqual(['a', 'b', ...Array.from({ length: 18 }, (_, i) => `x${i}`)])
    expect(await fieldsOf([])).toBeUndefined()
    expect(await fieldsOf('x')).toBeUndefined()
  })
})

describe('a query', () => {
  const send = async (query: string) => {
    const response = await auth.handler(get(`/echo${query}`))
    return { status: response.status, ...(await response.json()) }
  }

  test('is an object of strings', async () => {
    expect(await send('?a=1&b=')).toEqual({ status: 200, input: { a: '1', b: '' } })
  })

  test('with a repeated name is 400 with that name', async () => {
    expect(await send('?a=1&b=2&b=3')).toMatchObject({ status: 400, code: 'INVALID_INPUT', fields: ['b'] })
  })

  test('is ignored by an endpoint without one', async () => {
    expect((await auth.handler(get(`${ENDPOINTS.jwks.path}?v=2`))).status).toBe(200)
  })
})

test('a failure is 500 without its cause, which is reported', async () => {
  const response = await auth.handler(post('/broken', fits))
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ code: 'INTERNAL_ERROR', message: 'Something went wrong' })
  expect(reported.splice(0)).toEqual([cause])
})

test("doesn't report a rejection", async () => {
  await auth.handler(get('/unknown'))
  await auth.handler(get(ENDPOINTS.token.path))
  await auth.handler(post('/broken', { a: 1 }))
  expect(reported).toEqual([])
})
