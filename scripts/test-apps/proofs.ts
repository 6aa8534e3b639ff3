import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser } from './app.ts'
import { expireJwt } from './expire-jwt.ts'

/**
 * An app with two pages: `/` (`Home`) and `/me` (for users: their email in a `<p>`, and `tick N` of a
 * subscription). Signed out, `/me` leads to `/`. Its router has `me`, `save` (input: a string of up to
 * 100,000 bytes, result: its length), and `ticks`. Its pages set `window.client`, and `window.router` if they
 * navigate without a page load.
 */
export interface ServedApp {
  /** The origin of the pages. */
  readonly origin: string
  /** The origin of tRPC and the auth endpoints. @default origin */
  readonly api?: string
  /** @default '/api/trpc' */
  readonly trpcPath?: string
  /** Whether tRPC uses superjson. */
  readonly isSuperjson?: boolean
  /** Whether the HTML of `/me` has the email. @default true */
  readonly isServerRendered?: boolean
  /** The app's `SIGNING_KEYS`. They sign an expired JWT. */
  readonly signingKeys: string
  /** Bans a user in the database. See {@link banInSqlite}. */
  ban(email: string): void | Promise<void>
}

/** One tab in the app, in which users come and go. */
export interface Tour extends AsyncDisposable {
  readonly app: Required<ServedApp>
  readonly page: Awaited<ReturnType<Browser['newPage']>>
  /** Errors that the pages didn't catch. */
  readonly errors: readonly string[]
}

export async function openTour(app: ServedApp, browser: Browser): Promise<Tour> {
  const page = await browser.newPage()
  // A development server compiles a page at its first request.
  page.setDefaultTimeout(60_000)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  const { origin } = app
  const defaults = { api: origin, trpcPath: '/api/trpc', isSuperjson: false, isServerRendered: true }
  return {
    // A method of a class instance isn't copied.
    app: { ...defaults, ...app, ban: (email) => app.ban(email) },
    page,
    errors,
    [Symbol.asyncDispose]: () => page.context().close(),
  }
}

const ADA = 'ada@example.com'
const GRACE = 'grace@example.com'
const PASSWORD = 'a long enough password'

/** The proofs in their order. Each continues with the tab and the users of the one before it. */
export const PROOFS: readonly (readonly [name: string, prove: (tour: Tour) => Promise<void>])[] = [
  ['a sign-up, and a navigation right after it', signUp],
  ['a protected query on the server and in the browser', query],
  ['a mutation with a body of 90 KB', mutate],
  ['an expired JWT on a full page load', loadWithExpiredJwt],
  ['a subscription', subscribe],
  ['a revocation by another session, seen live', revoke],
  ['a sign-out', signOut],
  ['the back button shows no data of the user before', goBack],
  ['a page that arrives after the user changed', arriveLate],
  ['a ban, seen live', ban],
  ['no error in the pages', async ({ errors }) => assert.deepEqual(errors, [])],
]

async function signUp({ app, page }: Tour): Promise<void> {
  await page.goto(app.origin)
  await page.getByText('Home').waitFor()
  await enter(page, 'signUpEmail', ADA)
  await page.getByText(ADA).waitFor()
  assert.equal(new URL(page.url()).pathname, '/me')
}

async function query(tour: Tour): Promise<void> {
  const { app } = tour
  const cookie = await cookieOf(tour)
  const html = await (await fetch(`${app.origin}/me`, { headers: { cookie } })).text()
  assert.equal(hasUser(html), app.isServerRendered, html)
  assert.match(await (await call(tour, 'me', { cookie })).text(), new RegExp(ADA))
  await assertRejected(tour, '', 'TOKEN_MISSING')
  const anonymous = await (await fetch(`${app.origin}/me`)).text()
  assert.ok(!anonymous.includes(ADA))
}

async function mutate(tour: Tour): Promise<void> {
  const text = 'x'.repeat(90_000)
  const { isSuperjson } = tour.app
  const body = JSON.stringify(isSuperjson ? { json: text } : text)
  const response = await call(tour, 'save', { cookie: await cookieOf(tour), body })
  const data = isSuperjson ? { json: 90_000 } : 90_000
  assert.deepEqual(await response.json(), { result: { data } })
}

async function loadWithExpiredJwt(tour: Tour): Promise<void> {
  const { app, page } = tour
  const [jwt] = (await page.context().cookies(app.api)).filter(({ name }) => name.endsWith('.jwt'))
  assert.ok(jwt)
  const expired = { ...jwt, value: expireJwt(jwt.value, app.signingKeys) }
  const cookie = (await cookieOf(tour)).replace(jwt.value, expired.value)
  await assertRejected(tour, cookie, 'TOKEN_EXPIRED')
  if (app.isServerRendered) {
    const response = await fetch(`${app.origin}/me`, { headers: { cookie } })
    assert.ok(hasUser(await response.text()))
    const setCookies = response.headers.getSetCookie().map((setCookie) => setCookie.split('=')[0])
    assert.deepEqual(setCookies, [jwt.name])
  }
  await page.context().addCookies([expired])
  await page.goto(`${app.origin}/me`)
  await page.getByText(ADA).waitFor()
}

async function subscribe({ page }: Tour): Promise<void> {
  await page.getByText(/tick ([3-9]|\d\d)/).waitFor()
}

async function revoke(tour: Tour): Promise<void> {
  const { app, page } = tour
  const copied = await cookieOf(tour)
  const signIn = await post(app, 'sign-in/email', { body: { email: ADA, password: PASSWORD } })
  const cookie = signIn.headers.getSetCookie().map((setCookie) => setCookie.split(';')[0])
  await post(app, 'revoke-other-sessions', { cookie: cookie.join('; '), body: {} })
  await page.getByText('Home').waitFor()
  assert.deepEqual(await usersIn(page), [])
  await assertRejected(tour, copied, 'SESSION_NOT_FOUND')
  await assertNoData(app, copied)
}

async function signOut(tour: Tour): Promise<void> {
  const { page } = tour
  await enter(page, 'signInEmail', ADA)
  await page.getByText(ADA).waitFor()
  const copied = await cookieOf(tour)
  await page.evaluate('void client.signOut()')
  await page.getByText('Home').waitFor()
  assert.deepEqual(await usersIn(page), [])
  await assertRejected(tour, copied, 'SESSION_NOT_FOUND')
}

async function goBack(tour: Tour): Promise<void> {
  const { page } = tour
  await page.goBack()
  assert.deepEqual(await usersIn(page), [])
  await page.getByText('Home').waitFor()
  await enter(page, 'signUpEmail', GRACE)
  await page.getByText(GRACE).waitFor()
  assert.deepEqual(await usersIn(page), [GRACE])
  // A router may keep `/me` as a hidden part of the page.
  await page.goBack()
  await page.getByText('Home').waitFor()
  await page.evaluate('void client.signOut()')
  await page.waitForFunction('client.getState().status === "unauthenticated"')
  assert.deepEqual(await usersIn(page), [])
  await page.goForward()
  await page.getByText('Home').waitFor()
  assert.deepEqual(await usersIn(page), [])
}

/** Holds what `/me` requests for Ada until Grace is signed in. */
async function arriveLate({ app, page }: Tour): Promise<void> {
  await signIn(page, ADA)
  await page.goto(app.origin)
  await page.waitForFunction('window.client')
  if (!(await page.evaluate('window.router !== undefined'))) return
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isHolding = true
  await page.route(/^(?!.*\/(auth|ticks)\b)/, async (route) => {
    if (!isHolding || route.request().resourceType() !== 'fetch') return route.continue()
    const response = await route.fetch()
    held.resolve()
    await release.promise
    // The router may have cancelled the request.
    await route.fulfill({ response }).catch(() => {})
  })
  await page.evaluate('void router.push("/me")')
  await held.promise
  isHolding = false
  await signIn(page, GRACE)
  await usersIn(page)
  release.resolve()
  assert.ok(!(await usersIn(page)).includes(ADA))
  await page.unrouteAll()
  await page.evaluate('void router.push("/me")')
  await page.getByText(GRACE).waitFor()
  assert.deepEqual(await usersIn(page), [GRACE])
}

async function ban(tour: Tour): Promise<void> {
  const { app, page } = tour
  await enter(page, 'signInEmail', GRACE)
  await page.getByText(/tick \d/).waitFor()
  const cookie = await cookieOf(tour)
  await app.ban(GRACE)
  await page.waitForFunction('client.getState().error?.code === "ACCOUNT_BANNED"')
  await assertRejected(tour, cookie, 'ACCOUNT_BANNED', 403)
  await assertNoData(app, cookie)
  await page.goto(`${app.origin}/me`)
  assert.deepEqual(await usersIn(page), [])
}

const signIn = (page: Tour['page'], email: string): Promise<unknown> =>
  page.evaluate(`client.api.signInEmail(${JSON.stringify({ email, password: PASSWORD })})`)

/** Navigates right after the sign-in or sign-up, as an app's form does. */
async function enter(
  page: Tour['page'],
  method: 'signInEmail' | 'signUpEmail',
  email: string,
): Promise<void> {
  await page.waitForFunction('window.client !== undefined')
  const input = { email, password: PASSWORD, ...(method === 'signUpEmail' && { name: 'A user' }) }
  const navigate = `() => { window.router ? router.push('/me') : setTimeout(() => location.assign('/me')) }`
  await page.evaluate(`client.api.${method}(${JSON.stringify(input)}).then(${navigate})`)
}

/** Returns all users whose data the elements of the page have, except scripts, during a short while. */
async function usersIn(page: Tour['page']): Promise<string[]> {
  const seen = new Set<string>()
  for (let i = 0; i < 5; i++) {
    for (const user of [ADA, GRACE]) if ((await page.getByText(user).count()) > 0) seen.add(user)
    await delay(50)
  }
  return [...seen]
}

const hasUser = (html: string): boolean => new RegExp(`<p[^>]*>(<!--.*?-->)*${ADA}`).test(html)

/** Returns the browser's cookies for the API as a header. */
async function cookieOf({ app, page }: Tour): Promise<string> {
  const cookies = await page.context().cookies(app.api)
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
}

/** Asserts that `/me` responds, and without the data of a user. */
async function assertNoData({ origin }: ServedApp, cookie: string): Promise<void> {
  const response = await fetch(`${origin}/me`, { headers: { cookie } })
  assert.ok(response.status < 500)
  assert.doesNotMatch(await response.text(), new RegExp(`${ADA}|${GRACE}`))
}

/** Calls a procedure: with a body, a mutation. */
function call({ app }: Tour, path: string, { cookie, body }: { cookie: string; body?: string }) {
  const headers = { cookie, origin: app.origin, 'content-type': 'application/json' }
  const method = body === undefined ? 'GET' : 'POST'
  return fetch(`${app.api}${app.trpcPath}/${path}`, { method, headers, ...(body && { body }) })
}

async function post(
  { api, origin }: Required<ServedApp>,
  path: string,
  { cookie = '', body }: { cookie?: string; body: object },
): Promise<Response> {
  const headers = { cookie, origin, 'content-type': 'application/json' }
  const response = await fetch(`${api}/api/auth/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`)
  return response
}

/** Asserts that `me` is rejected for these cookies. */
async function assertRejected(tour: Tour, cookie: string, reason: string, status = 401): Promise<void> {
  const response = await call(tour, 'me', { cookie })
  const body = await response.text()
  assert.deepEqual([response.status, /"reason":"(\w+)"/.exec(body)?.[1]], [status, reason], body)
}
