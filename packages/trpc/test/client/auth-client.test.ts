import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { REASONS } from '@sallyport/core'
import { type Auth, defineEndpoint } from '@sallyport/core/auth'
import {
  AUTH_PATH,
  ENDPOINTS,
  type ErrorResponse,
  type OrganizationResponse,
  type SessionResponse,
  type TokenResponse,
} from '@sallyport/core/internal/protocol'
import type { admin } from '@sallyport/core/plugins/admin'
import { anonymous } from '@sallyport/core/plugins/anonymous'
import { emailCode } from '@sallyport/core/plugins/email-code'
import type { emailPassword, UsernameEndpoints } from '@sallyport/core/plugins/email-password'
import { oauth } from '@sallyport/core/plugins/oauth'
import { organization } from '@sallyport/core/plugins/organization'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import {
  type AuthClientApi,
  AuthClientError,
  type AuthClientOptions,
  createAuthClient,
} from '@sallyport/trpc/client'
import { afterAll, describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import * as z from 'zod'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { KEEP_ALIVE } from '../support/keep-alive.ts'

/** A third-party plugin. */
const notes = {
  id: 'notes',
  endpoints: {
    addNote: defineEndpoint({
      method: 'POST',
      path: '/notes/add',
      caller: 'user',
      input: z.strictObject({ text: z.string() }),
      output: z.object({ length: z.number() }),
      run: async ({ text }) => ({ body: { length: text.length } }),
    }),
    countNotes: defineEndpoint({
      method: 'GET',
      path: '/notes/count',
      caller: 'anyone',
      input: z.strictObject({ since: z.string().optional(), tag: z.string().optional() }),
      output: z.object({ query: z.string() }),
      run: async (query) => ({ body: { query: JSON.stringify(query) } }),
    }),
  },
}
const routes = {
  addNote: { method: 'POST', path: '/notes/add' },
  countNotes: { method: 'GET', path: '/notes/count' },
} as const

const auth = await createTestAuth({
  plugins: [
    notes,
    organization(),
    totp({ issuer: 'Test' }),
    passkeys(),
    emailCode({ sendEmail: async () => {} }),
    anonymous(),
    oauth({ providers: { github: { clientId: 'app', clientSecret: 'secret' } } }),
  ],
})
const server = createServer(
  KEEP_ALIVE,
  getRequestListener((request, { incoming }) =>
    auth.handler(request, { remoteAddress: incoming.socket.remoteAddress }),
  ),
)
await new Promise<void>((resolve) => server.listen(0, resolve))
const { port } = server.address() as AddressInfo
const baseUrl = `http://localhost:${port}`
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await auth.close()
})

type Api = typeof auth.api
type Client = AuthClientApi<Api>

/** Opens a separate browser with a client of the server. */
function open(headers: Record<string, string> = {}): {
  client: Client
  cookies: ReadonlyMap<string, string>
} {
  const { fetch, cookies } = cookieFetch(headers)
  return { client: createAuthClient<Api>({ isServer: false, baseUrl, routes, fetch }).api, cookies }
}

const newEmail = () => `${crypto.randomUUID()}@example.com`

/** Opens a browser whose user has just signed up. */
async function signUp(headers: Record<string, string> = {}) {
  const { client, cookies } = open(headers)
  const email = newEmail()
  const answer = await client.signUpEmail({ name: 'Ada', email, password: TEST_PASSWORD })
  return { client, cookies, email, ...answer }
}

/** Opens an admin's browser. */
async function signInAdmin() {
  const { client, cookies } = open()
  const { userId, email } = await auth.createUser({ role: 'admin' })
  await client.signInEmail({ email, password: TEST_PASSWORD })
  return { client, cookies, userId, email }
}

/** The API without the plugin's endpoint. */
type OwnApi = Omit<Api, keyof typeof routes>

/** Returns the error of a rejected call. */
async function errorOf(call: Promise<unknown>): Promise<AuthClientError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof AuthClientError) return error
  throw new TypeError(`No AuthClientError: ${error}`)
}

/** Creates a client whose requests are recorded and all get the same response. */
function record(answer: () => Response, options: AuthClientOptions = {}) {
  const fetch = vi.fn<typeof globalThis.fetch>(async () => answer())
  const client = createAuthClient<Record<string, (input?: object) => Promise<object>>>({
    isServer: false,
    ...options,
    routes: {},
    fetch,
  }).api
  return {
    async call(name: string, input?: object) {
      const before = fetch.mock.calls.length
      await client[name]?.(input)
      const [url, init] = fetch.mock.calls[before] ?? []
      const { signal: _limit, ...request } = init ?? {}
      return { url, ...request }
    },
    client,
  }
}

describe('the methods', () => {
  test('stay the same, and programs may await, print, and convert them', async () => {
    const { client } = record(() => Response.json({}))
    expect(client.getSession).toBe(client.getSession)
    expect(await client).toBe(client)
    expect(`${JSON.stringify(client)} ${Object.prototype.toString.call(client)}`).toBe('{} [object Object]')
  })

  test.each(Object.entries(ENDPOINTS))('%s calls its endpoint', async (name, { method, path }) => {
    const { call } = record(() => Response.json({ success: true }), { baseUrl: 'https://app.example.com/' })
    const request = await call(name)
    expect(request).toEqual({
      url: `https://app.example.com${AUTH_PATH}${path}`,
      method,
      redirect: 'manual',
      credentials: 'include',
      headers:
        method === 'GET'
          ? { 'x-sallyport': '1' }
          : { 'x-sallyport': '1', 'content-type': 'application/json' },
      ...(method === 'POST' && { body: '{}' }),
    })
  })

  test('send the input of a POST as JSON and that of a GET as the query', async () => {
    const { call } = record(() => Response.json({}))
    const input = { sessionId: 'a&b=c' }
    expect(await call('revokeSession', input)).toMatchObject({
      url: '/api/auth/revoke-session',
      body: '{"sessionId":"a&b=c"}',
    })
    const query = { search: 'a&b=c d', limit: 2, cursor: undefined }
    const request = await call('listUsers', query)
    expect(request.url).toBe('/api/auth/admin/list-users?search=a%26b%3Dc+d&limit=2')
    expect(request).not.toHaveProperty('body')
    expect((await call('listUsers', { cursor: undefined })).url).toBe('/api/auth/admin/list-users')
  })

  test.each(['signInEmail', 'signUpEmail', 'signOut'])(
    '%s rejects redirectTo in a program without pages, before the request',
    async (name) => {
      const fetch = vi.fn<typeof globalThis.fetch>(async () => Response.json({ success: true }))
      const { api } = createAuthClient<Record<string, (input?: object) => Promise<object>>>({
        isServer: false,
        routes: {},
        fetch,
      })
      const { [name]: method = () => Promise.resolve({}) } = api
      expect(await errorOf(method({ redirectTo: '/notes' }))).toMatchObject({
        code: 'REDIRECT_REJECTED',
        status: 400,
      })
      expect(fetch).not.toHaveBeenCalled()
    },
  )

  test.each(['then', 'toJSON', 'constructor', '../../trpc/leave', 'a/b', 'a?b', 'a#b', '%2e%2e', ''])(
    '"%s" is no method, so a name from a URL calls nothing else',
    (name) => {
      const { api } = createAuthClient<Record<string, () => Promise<object>>>({ isServer: false, routes: {} })
      expect(api[name]).toBeUndefined()
    },
  )

  test("redirectTo of another endpoint is the endpoint's own", async () => {
    const { call } = record(() => Response.json({}))
    for (const name of ['updateUser', 'signInOauth'])
      expect((await call(name, { redirectTo: '/notes' })).body).toBe('{"redirectTo":"/notes"}')
  })

  test('go to the origin of the page unless a base URL is given, with the fetch of the page', async () => {
    const fetch = vi.spyOn(globalThis, 'fetch').mockResolvedValue(Response.json({ sessions: [] }))
    onTestFinished(() => fetch.mockRestore())
    expect(await createAuthClient<OwnApi>().api.listSessions()).toEqual({ sessions: [] })
    expect(fetch.mock.calls[0]?.[0]).toBe('/api/auth/sessions')
  })
})

/** The cookies that stay after a sign-out. */
const KNOWN_BROWSER = ['service.device', 'service.device-email']

describe('call the endpoints over a socket', () => {
  test('sign-up signs in, and the session has the user', async () => {
    const { client, cookies, email, userId, sessionId, expiresIn } = await signUp()
    expect(expiresIn).toBe(900)
    expect([...cookies.keys()].sort()).toEqual([...KNOWN_BROWSER, 'service.jwt', 'service.session'])
    const { session, user } = await client.getSession()
    expect(session).toMatchObject({ id: sessionId, current: true })
    expect(user).toMatchObject({ id: userId, email, name: 'Ada', role: 'user', emailVerified: false })
  })

  test('sign-in, refresh, and sign-out', async () => {
    const { email } = await signUp()
    const { client, cookies } = open()
    const { sessionId } = await client.signInEmail({ email, password: TEST_PASSWORD, rememberMe: false })
    const jwt = cookies.get('service.jwt')
    expect((await client.token()).sessionId).toBe(sessionId)
    expect(cookies.get('service.jwt')).not.toBe(jwt)
    expect(await client.signOut()).toEqual({ success: true })
    expect([...cookies.keys()]).toEqual(KNOWN_BROWSER)
    expect((await errorOf(client.getSession())).code).toBe('SESSION_NOT_FOUND')
  })

  test('listSessions and revokeSession', async () => {
    const here = await signUp({
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    })
    const elsewhere = open({ 'user-agent': 'curl/8.5.0' })
    const { sessionId } = await elsewhere.client.signInEmail({ email: here.email, password: TEST_PASSWORD })
    const { sessions } = await here.client.listSessions()
    expect(sessions.map(({ id, current, device }) => ({ id, current, device }))).toEqual(
      expect.arrayContaining([
        { id: here.sessionId, current: true, device: 'Firefox on Linux' },
        { id: sessionId, current: false, device: 'curl' },
      ]),
    )
    expect(sessions).toHaveLength(2)
    expect(sessions.map(({ address }) => address)).toEqual(
      Array(2).fill(expect.stringMatching(/^(::1|127\.0\.0\.1)$/)),
    )

    expect(await here.client.revokeSession({ sessionId })).toEqual({ revoked: true })
    expect((await errorOf(elsewhere.client.getSession())).code).toBe('SESSION_NOT_FOUND')
    expect((await here.client.listSessions()).sessions.map(({ id }) => id)).toEqual([here.sessionId])
    expect(await here.client.revokeSession({ sessionId })).toEqual({ revoked: false })
  })

  test('revokeOtherSessions and revokeSessions', async () => {
    const here = await signUp()
    for (let i = 0; i < 2; i++)
      await open().client.signInEmail({ email: here.email, password: TEST_PASSWORD })
    expect(await here.client.revokeOtherSessions()).toEqual({ revoked: 2 })
    expect(await here.client.revokeSessions()).toEqual({ revoked: 1 })
    expect([...here.cookies.keys()]).toEqual(KNOWN_BROWSER)
  })

  test('an admin lists users with a query, bans, and unbans', async () => {
    const [ada, grace] = [await signInAdmin(), await signUp()]
    const page = await ada.client.listUsers({ search: grace.email.toUpperCase(), limit: 1 })
    expect(page).toMatchObject({
      users: [{ id: grace.userId, email: grace.email, banned: false }],
      nextCursor: null,
    })
    const first = await ada.client.listUsers({ limit: 1 })
    expect(first.users).toHaveLength(1)
    const second = await ada.client.listUsers({ limit: 1, cursor: first.nextCursor ?? '' })
    expect(second.users[0]?.id).not.toBe(first.users[0]?.id)

    expect(await ada.client.banUser({ userId: grace.userId, reason: 'spam', expiresIn: 60 })).toEqual({
      success: true,
    })
    const rejection = await errorOf(grace.client.getSession())
    expect(rejection).toMatchObject({ code: 'ACCOUNT_BANNED', status: 403, message: 'Account banned' })
    await ada.client.unbanUser({ userId: grace.userId })
    expect((await grace.client.getSession()).user.id).toBe(grace.userId)
    const { sessions } = await ada.client.listUserSessions({ userId: grace.userId })
    expect(sessions.map(({ id }) => id)).toEqual([grace.sessionId])
  })

  test('organizations', async () => {
    const { client } = await signUp()
    const { organization: acme } = await client.createOrganization({ name: 'Acme', slug: 'acme-client' })
    expect((await client.listOrganizations()).organizations).toEqual([acme])
    expect((await client.getSession()).session.activeOrganizationId).toBe(acme.id)
    const { members } = await client.listMembers({ organizationId: acme.id, limit: 1 })
    expect(members.map(({ role }) => role)).toEqual(['owner'])
    expect(await client.setActiveOrganization({ organizationId: null })).toEqual({
      activeOrganizationId: null,
      activeOrganizationRole: null,
    })
    const rejection = await errorOf(client.createOrganization({ name: 'Emca', slug: 'acme-client' }))
    expect(rejection).toMatchObject({ code: 'SLUG_TAKEN', status: 409 })
  })

  test('endpoints of other plugins are called by their routes', async () => {
    const { client } = await signUp()
    expect(await client.addNote({ text: 'water the plants' })).toEqual({ length: 16 })
    expect(await client.countNotes()).toEqual({ query: '{}' })
    expect(await client.countNotes({ since: '2026', tag: 'a b' })).toEqual({
      query: '{"since":"2026","tag":"a b"}',
    })
  })
})

describe('a rejection is an AuthClientError', () => {
  test('with code, status, and message', async () => {
    const { client, email } = await signUp()
    const visitor = open().client
    for (const attempted of [email, newEmail()]) {
      const error = await errorOf(visitor.signInEmail({ email: attempted, password: 'a wrong password' }))
      expect(error).toBeInstanceOf(Error)
      expect(error).toMatchObject({
        name: 'AuthClientError',
        code: 'INVALID_CREDENTIALS',
        status: 401,
        fields: [],
        retryAfterSeconds: null,
      })
    }
    const { status, message } = REASONS.ROLE_REQUIRED
    expect(await errorOf(client.listUsers())).toMatchObject({ code: 'ROLE_REQUIRED', status, message })
  })

  test('with the invalid fields', async () => {
    const { client } = open()
    const error = await errorOf(client.signUpEmail({ name: '', email: 'nobody', password: TEST_PASSWORD }))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', status: 400 })
    expect([...error.fields].sort()).toEqual(['email', 'name'])
  })

  test('with the seconds to wait', async () => {
    const { client } = open()
    const email = newEmail()
    const attempt = () => errorOf(client.signInEmail({ email, password: 'a wrong password' }))
    for (let i = 0; i < 10; i++) expect((await attempt()).code).toBe('INVALID_CREDENTIALS')
    const error = await attempt()
    expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429 })
    expect(error.retryAfterSeconds).toBeGreaterThan(0)
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(15 * 60)
  })

  test.each([
    { answer: 'an HTML page', body: '<!doctype html><p>Not found</p>', status: 404 },
    { answer: 'an HTML page with 200, as from a sign-in proxy', body: '<!doctype html>', status: 200 },
    { answer: 'empty', body: '', status: 502 },
    { answer: 'empty with 200', body: '', status: 200 },
    { answer: 'null', body: 'null', status: 200 },
    { answer: 'text with 200', body: '"hello"', status: 200 },
    { answer: 'an error in another format', body: '{"code":404,"message":"Not Found"}', status: 404 },
    { answer: 'JSON in another format', body: '{"error":"Bad Gateway"}', status: 502 },
    { answer: 'text', body: '"no"', status: 500 },
    { answer: 'a code without a message', body: '{"code":"TEAPOT"}', status: 418 },
  ])('with code UNKNOWN if the response is $answer ($status)', async ({ body, status }) => {
    const { client } = record(() => new Response(body, { status }))
    expect(await errorOf(client.listSessions?.() ?? Promise.resolve())).toMatchObject({
      code: 'UNKNOWN',
      status,
      message: 'The response is not from an auth endpoint. Check baseUrl',
      fields: [],
      retryAfterSeconds: null,
    })
  })

  test('with code UNREACHABLE if there is no response, and the fetch error as its cause', async () => {
    const { api } = createAuthClient<OwnApi>({ baseUrl: 'http://localhost:1' })
    const error = await errorOf(api.listSessions())
    expect(error).toMatchObject({ code: 'UNREACHABLE', status: 0, cause: expect.any(TypeError) })
  })
})

describe('the types of the client', () => {
  test('match auth.api', () => {
    expectTypeOf<Client['signInEmail']>().toBeCallableWith({
      email: 'a@b.c',
      password: 'x',
      rememberMe: true,
    })
    expectTypeOf<Awaited<ReturnType<Client['listSessions']>>>().toEqualTypeOf<{
      sessions: SessionResponse[]
    }>()
    expectTypeOf<Awaited<ReturnType<Client['revokeSession']>>>().toEqualTypeOf<{ revoked: boolean }>()
    expectTypeOf<Awaited<ReturnType<Client['addNote']>>>().toEqualTypeOf<{ length: number }>()
    expectTypeOf<Parameters<Client['addNote']>>().toEqualTypeOf<[input: { text: string }]>()
    expectTypeOf<Client['listSessions']>().toBeCallableWith()
    expectTypeOf<Parameters<Client['createOrganization']>>().toEqualTypeOf<
      [input: { name: string; slug?: string }]
    >()
    expectTypeOf<Awaited<ReturnType<Client['listOrganizations']>>>().toEqualTypeOf<{
      organizations: OrganizationResponse[]
    }>()
    type OwnSession = Awaited<ReturnType<Client['getSession']>>['session']
    expectTypeOf<OwnSession['activeOrganizationId']>().toEqualTypeOf<string | null>()
  })

  test('take the methods from the endpoints, except those without a route', () => {
    type WithoutUsernames = Exclude<keyof typeof ENDPOINTS, keyof UsernameEndpoints>
    expectTypeOf<keyof Client>().toEqualTypeOf<WithoutUsernames | keyof typeof routes>()
    expectTypeOf<keyof Api>().toEqualTypeOf<keyof Client | 'createSession'>()
  })

  test('require the route of every third-party endpoint, which may differ from its name', async () => {
    // @ts-expect-error the route of addNote is missing
    createAuthClient<Api>()
    const fetch = vi.fn<typeof globalThis.fetch>(async () => Response.json({ length: 1 }))
    const route = { method: 'POST', path: '/admin/notes' } as const
    const client = createAuthClient<Api>({ isServer: false, fetch, routes: { ...routes, addNote: route } })
    await client.api.addNote({ text: '' })
    expect(fetch.mock.calls[0]?.[0]).toBe(`${AUTH_PATH}/admin/notes`)
  })

  test('omit the request and the headers, which only exist on the server', () => {
    expectTypeOf<Awaited<ReturnType<Api['signInEmail']>>>().toEqualTypeOf<
      TokenResponse & { readonly headers: Headers }
    >()
    expectTypeOf<Awaited<ReturnType<Client['signInEmail']>>>().toEqualTypeOf<TokenResponse>()
    expectTypeOf<Parameters<Client['revokeSession']>[0]>().toEqualTypeOf<{ sessionId: string }>()
  })

  test('make the input optional only if all its members are', () => {
    const { client } = record(() => Response.json({}))
    const typed: Pick<Client, 'listUsers' | 'revokeSession' | 'banUser' | 'signOut'> = Object.assign(client, {
      listUsers: vi.fn<Client['listUsers']>(),
      revokeSession: vi.fn<Client['revokeSession']>(),
      banUser: vi.fn<Client['banUser']>(),
      signOut: vi.fn<Client['signOut']>(),
    })
    typed.listUsers()
    typed.signOut()
    typed.signOut({ redirectTo: '/' })
    // @ts-expect-error only signing in, up, and out have it
    typed.listUsers({ redirectTo: '/' })
    // @ts-expect-error sessionId is required
    typed.revokeSession()
    // @ts-expect-error the field does not exist
    typed.banUser({ userId: 'u1', until: 'tomorrow' })
    // @ts-expect-error only the server takes the request
    typed.listUsers({ request: new Request('http://localhost') })
    expect(typed.listUsers).toHaveBeenCalledTimes(3)
  })

  test("include a plugin's endpoints only if the server has the plugin", () => {
    type Plain = Auth<readonly [ReturnType<typeof emailPassword>]>['api']
    type WithAdmin = Auth<readonly [ReturnType<typeof emailPassword>, ReturnType<typeof admin>]>['api']
    expectTypeOf<AuthClientApi<Plain>>().toHaveProperty('signInEmail')
    expectTypeOf<AuthClientApi<Plain>>().not.toHaveProperty('banUser')
    expectTypeOf<AuthClientApi<WithAdmin>>().toHaveProperty('banUser')
    expectTypeOf<AuthClientApi<WithAdmin>>().not.toHaveProperty('addNote')
  })

  test('describe the members of the error', () => {
    expectTypeOf<AuthClientError>().toExtend<Error>()
    expectTypeOf<AuthClientError['retryAfterSeconds']>().toEqualTypeOf<number | null>()
    expectTypeOf<AuthClientError['fields']>().toEqualTypeOf<readonly string[]>()
    const body: ErrorResponse = { code: 'NOT_FOUND', message: 'There is no such endpoint' }
    expect(new AuthClientError(404, body)).toMatchObject({
      ...body,
      status: 404,
      fields: [],
      retryAfterSeconds: null,
    })
  })
})
