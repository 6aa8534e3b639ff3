import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, type Route } from '@sallyport/core/internal/protocol'
import { createTestAuth } from '@sallyport/core/testing'
import { allowInsecureRequests, discovery } from 'openid-client'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { CLIENT, type ProviderPerson, startOpenIdProvider } from './open-id-provider.ts'
import { serve } from './serve.ts'
import { createProviderSignIn } from './sign-in-with-provider.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
const [acme, other] = await Promise.all([startOpenIdProvider(), startOpenIdProvider()])
const signIns = new Map<string, ReturnType<typeof createProviderSignIn>>()
const app = await serve(async (request, options) => {
  const { pathname } = new URL(request.url)
  if (pathname.startsWith(AUTH_PATH)) return auth.handler(request, options)
  const [, , name = '', callback] = pathname.split('/')
  const signIn = signIns.get(name)
  if (signIn === undefined) return new Response(null, { status: 404 })
  return callback === undefined ? signIn.start() : signIn.finish(request, options)
})
for (const [name, { issuer }] of [
  ['acme', acme],
  ['other', other],
] as const) {
  const execute = [allowInsecureRequests]
  const provider = await discovery(issuer, CLIENT.id, CLIENT.secret, undefined, { execute })
  const redirectUri = `${app}/sign-in/${name}/callback`
  signIns.set(name, createProviderSignIn({ provider, redirectUri, api: auth.api, database: auth.database }))
}

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0'

/** Keeps cookies, and doesn't follow redirects. */
function openBrowser() {
  const cookies = new Map<string, string>()
  async function get(url: string): Promise<Response> {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const headers = { cookie, 'user-agent': FIREFOX, [CLIENT_HEADER]: '1' }
    const response = await fetch(url, { headers, redirect: 'manual' })
    for (const header of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
      if (header.includes('Max-Age=0')) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  return { cookies, get, ask: async ({ path }: Route) => (await get(`${app}${AUTH_PATH}${path}`)).json() }
}

type Browser = ReturnType<typeof openBrowser>

/** Goes to the provider. Returns where that sends the browser. */
async function comeBack(browser: Browser, name = 'acme'): Promise<string> {
  const there = await browser.get(`${app}/sign-in/${name}`)
  const back = await browser.get(there.headers.get('location') ?? '')
  return back.headers.get('location') ?? ''
}

async function signIn(browser: Browser, name?: string): Promise<Response> {
  return browser.get(await comeBack(browser, name))
}

const countOf = async (table: 'user' | 'account' | 'session') =>
  (await auth.db.selectFrom(table).select('id').execute()).length

/** Returns a person that no other test uses. */
function newPerson(): Required<ProviderPerson> {
  const sub = crypto.randomUUID()
  return { sub, email: `${sub}@example.com`, email_verified: true, name: 'Ada' }
}

let ada: Required<ProviderPerson>
let browser: Browser
beforeEach(() => {
  ada = newPerson()
  browser = openBrowser()
  acme.person = ada
  acme.alter = (claims) => claims
  acme.signsWithStrangeKey = false
})

describe('sign-in at an OpenID provider', () => {
  test('begins a session, which the list of sessions shows', async () => {
    const response = await signIn(browser)
    expect([response.status, response.headers.get('location')]).toEqual([302, '/'])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await browser.ask(ENDPOINTS.getSession)).toMatchObject({
      user: { name: 'Ada', email: ada.email, emailVerified: true, role: 'user' },
      session: { current: true },
    })
    expect(await browser.ask(ENDPOINTS.listSessions)).toMatchObject({
      sessions: [{ current: true, address: '127.0.0.1', device: 'Firefox on Linux' }],
    })
  })

  test('leaves nothing of the sign-in in the browser but the two cookies of ours', async () => {
    await signIn(browser)
    expect([...browser.cookies.keys()].sort()).toEqual(['service.jwt', 'service.session'])
  })

  test('is recorded', async () => {
    await signIn(browser)
    const { user } = await browser.ask(ENDPOINTS.getSession)
    const records = await auth.db
      .selectFrom('sallyport.audit')
      .select('type')
      .where('userId', '=', user.id)
      .orderBy('type')
      .execute()
    expect(records.map(({ type }) => type)).toEqual(['session.created', 'user.created'])
  })

  test('finds the same user again, whatever their email is by now', async () => {
    await signIn(browser)
    const { user } = await browser.ask(ENDPOINTS.getSession)
    acme.person = { ...ada, email: 'elsewhere@example.com', email_verified: false }
    const laptop = openBrowser()
    expect((await signIn(laptop)).status).toBe(302)
    expect((await laptop.ask(ENDPOINTS.getSession)).user).toEqual(user)
    expect((await laptop.ask(ENDPOINTS.listSessions)).sessions).toHaveLength(2)
  })

  test('ends the session that the browser had', async () => {
    await signIn(browser)
    const { session } = await browser.ask(ENDPOINTS.getSession)
    await signIn(browser)
    const { sessions } = await browser.ask(ENDPOINTS.listSessions)
    expect(sessions).toHaveLength(1)
    expect(sessions[0].id).not.toBe(session.id)
  })

  test('works behind a proxy, where the request names another host', async () => {
    const url = new URL(await comeBack(browser))
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
    const request = new Request(`http://internal:8080${url.pathname}${url.search}`, { headers: { cookie } })
    expect((await signIns.get('acme')?.finish(request))?.status).toBe(302)
  })

  test('keeps two providers apart that call two people by one name', async () => {
    await signIn(browser)
    other.person = { ...newPerson(), sub: ada.sub }
    const stranger = openBrowser()
    expect((await signIn(stranger, 'other')).status).toBe(302)
    const [one, two] = await Promise.all([browser, stranger].map(({ ask }) => ask(ENDPOINTS.getSession)))
    expect(two.user.email).not.toBe(one.user.email)
    expect(two.user.id).not.toBe(one.user.id)
  })
})

describe('a sign-in is rejected, and nobody is signed in', () => {
  async function expectRejection(response: Response, [status, text]: [number, string]): Promise<void> {
    expect([response.status, await response.text()]).toEqual([status, text])
    expect(response.headers.getSetCookie()).toEqual([])
    expect(browser.cookies.has('service.session')).toBe(false)
    expect(await tablesNow()).toEqual(before)
  }

  const FAILED: [number, string] = [400, 'Sign-in failed. Start again.']
  const tablesNow = async () => [await countOf('user'), await countOf('account'), await countOf('session')]
  let before: number[]
  beforeEach(async () => {
    before = await tablesNow()
  })

  /** Part 0 is the state, 1 the nonce, 2 the code verifier. */
  function exchangePart(of: Browser, index: number, value: string): void {
    for (const [name, kept] of of.cookies) {
      of.cookies.set(name, kept.split('.').with(index, value).join('.'))
    }
  }

  test.each([
    ['another state in the address', (url: URL) => url.searchParams.set('state', 'another')],
    ['no state in the address', (url: URL) => url.searchParams.delete('state')],
    ['no code', (url: URL) => url.searchParams.delete('code')],
    ['a made-up code', (url: URL) => url.searchParams.set('code', crypto.randomUUID())],
    [
      'an error of the provider',
      (url: URL) => {
        url.searchParams.delete('code')
        url.searchParams.set('error', 'access_denied')
      },
    ],
  ])('with %s', async (_what, alter) => {
    const url = new URL(await comeBack(browser))
    alter(url)
    await expectRejection(await browser.get(url.href), FAILED)
  })

  test.each([
    ['state', 0],
    ['nonce', 1],
    ['code verifier', 2],
  ] as const)('with another %s in the browser', async (_what, index) => {
    const url = await comeBack(browser)
    exchangePart(browser, index, 'another'.repeat(7))
    await expectRejection(await browser.get(url), FAILED)
  })

  test('in a browser that has not begun one', async () => {
    const url = await comeBack(openBrowser())
    await expectRejection(await browser.get(url), FAILED)
  })

  test('in a browser that has not begun one, with a code that was asked for without state, nonce and challenge', async () => {
    const redirectUri = `${app}/sign-in/acme/callback`
    const request = {
      response_type: 'code',
      client_id: CLIENT.id,
      scope: 'openid',
      redirect_uri: redirectUri,
    }
    const back = await openBrowser().get(`${acme.issuer.origin}/authorize?${new URLSearchParams(request)}`)
    await expectRejection(await browser.get(back.headers.get('location') ?? ''), FAILED)
  })

  test('in a browser that has begun another one', async () => {
    const url = await comeBack(openBrowser())
    await comeBack(browser)
    await expectRejection(await browser.get(url), FAILED)
  })

  test('when the code has been used before, by whoever has the cookie of the sign-in', async () => {
    const url = await comeBack(browser)
    const thief = openBrowser()
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value)
    expect((await browser.get(url)).status).toBe(302)
    const { sessions } = await browser.ask(ENDPOINTS.listSessions)
    expect(sessions).toHaveLength(1)

    const replay = await thief.get(url)
    expect([replay.status, await replay.text()]).toEqual(FAILED)
    expect(thief.cookies.has('service.session')).toBe(false)
    expect(await browser.ask(ENDPOINTS.listSessions)).toEqual({ sessions })
  })

  test.each([
    ['for another app', { aud: 'another-app' }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['that has expired', { exp: 1 }],
    ['with another nonce', { nonce: 'another' }],
    ['without a nonce', { nonce: undefined }],
  ])('with an ID token %s', async (_what, changes) => {
    acme.alter = (claims) => ({ ...claims, ...changes })
    await expectRejection(await signIn(browser), FAILED)
  })

  test('with an ID token that the provider has not signed', async () => {
    acme.signsWithStrangeKey = true
    await expectRejection(await signIn(browser), FAILED)
  })

  test.each([
    ['is not verified', { email_verified: false }],
    ['may not be verified', { email_verified: undefined }],
    ['is unknown', { email: undefined }],
  ])('to someone new whose email %s', async (_what, changes) => {
    const { sub, name, email, email_verified } = { ...ada, ...changes }
    acme.person = {
      sub,
      name,
      ...(email !== undefined && { email }),
      ...(email_verified !== undefined && { email_verified }),
    }
    await expectRejection(await signIn(browser), [403, 'Your provider has not verified your email'])
  })

  test.each([(email: string) => email, (email: string) => ` ${email.toUpperCase()}`])(
    'to someone new with the email of a user, whom it would make one of two owners (%#)',
    async (write) => {
      const { email } = await auth.createUser()
      before = await tablesNow()
      acme.person = { ...ada, email: write(email) }
      await expectRejection(await signIn(browser), [
        409,
        'There is an account with this email. Sign in to it.',
      ])
    },
  )

  test('to a user who is banned', async () => {
    await signIn(browser)
    const { user } = await browser.ask(ENDPOINTS.getSession)
    await auth.db.updateTable('user').set({ banned: true }).where('id', '=', user.id).execute()
    before = await tablesNow()
    browser = openBrowser()
    await expectRejection(await signIn(browser), [403, 'Account banned'])
  })
})
