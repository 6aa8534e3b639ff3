import { AUTH_PATH } from '@sallyport/core/internal/protocol'
import { beforeEach, expect, test } from 'vitest'
import { cookiesAfter } from '../../support/requests.ts'
import { ACME, type Browser, createOauthAuth, newPerson } from './browser.ts'
import { startLocalProvider } from './local-provider.ts'
import { CLIENT } from './oidc-server.ts'

const apple = await startLocalProvider()
const { auth, open } = await createOauthAuth({
  providers: { apple: { ...CLIENT, issuer: apple.issuer } },
})
const APPLE = { ...ACME, provider: 'apple' }
const CALLBACK = `http://localhost:3000${AUTH_PATH}/callback/apple`

let browser: Browser
beforeEach(() => {
  const { sub, email } = newPerson()
  apple.person = { sub, email }
  // Apple writes the flag as text, and posts the name beside the code.
  apple.alter = (claims) => ({ ...claims, email_verified: 'true' })
  apple.added = { user: JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' } }) }
  browser = open()
})

/** Posts the form of the provider's page. Browsers send only the cookies with `SameSite=None`. */
async function postForm(
  url: string,
  from = browser,
  changes: Record<string, string> = {},
  { handler } = auth,
) {
  const html = await (await fetch(url)).text()
  const fields = {
    ...Object.fromEntries(
      Array.from(html.matchAll(/name="(\w+)" value="([^"]*)"/g), ([, name = '', value = '']) => [
        name,
        value.replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
      ]),
    ),
    ...changes,
  }
  const cookie = from.cookie
    .split('; ')
    .filter((pair) => pair.includes('.oauth-form='))
    .join('; ')
  const request = new Request(CALLBACK, {
    method: 'POST',
    headers: { cookie, origin: 'https://appleid.apple.com', 'sec-fetch-site': 'cross-site' },
    body: new URLSearchParams(fields),
  })
  const response = await handler(request, { remoteAddress: '203.0.113.7' })
  from.cookie = cookiesAfter(from.cookie, response)
  return { status: response.status, location: response.headers.get('location') ?? '' }
}

const begin = async (name: 'signInOauth' | 'linkAccount' = 'signInOauth') =>
  (await browser.call(name, APPLE)).body.url

test('the cookie of a sign-in with a posted callback is sent across sites, for ten minutes', async () => {
  const request = new Request(`http://localhost:3000${AUTH_PATH}/sign-in/oauth`, {
    method: 'POST',
    headers: { 'x-sallyport': '1', 'content-type': 'application/json' },
    body: JSON.stringify(APPLE),
  })
  const [cookie = ''] = (await auth.handler(request)).headers.getSetCookie()
  // Over https, a sign-in with a `Lax` cookie in another tab would replace one of the same name.
  expect(cookie).toMatch(/^__Host-service\.oauth-form=[\w-]{43}; /)
  for (const attribute of ['Max-Age=600', 'Path=/', 'HttpOnly', 'Secure', 'SameSite=None'])
    expect(cookie.split('; ')).toContain(attribute)
})

test('a posted callback continues with a GET, which has the cookies of the session', async () => {
  const { status, location } = await postForm(await begin())
  expect(status).toBe(303)
  // Neither the name nor an ID token is in a URL.
  expect([...new URL(location).searchParams.keys()].sort()).toEqual(['code', 'state'])
  expect((await browser.open(location)).page).toBe('/home')
  expect((await browser.call('getSession')).body.user).toMatchObject({
    name: 'Ada Lovelace',
    emailVerified: true,
  })
})

test('a user who cancels at Apple gets the code for it', async () => {
  const { location } = await postForm(await begin(), browser, { error: 'user_cancelled_authorize' })
  expect((await browser.open(location)).page).toBe('/sign-in?error=SIGN_IN_CANCELED')
})

test('sign-ins with a posted callback are not limited if they succeed', async () => {
  const limits = { address: { points: 2, duration: 60 } }
  const limited = await createOauthAuth({ providers: { apple: { ...CLIENT, issuer: apple.issuer } }, limits })
  for (let count = 0; count < 4; count++) {
    const other = limited.open()
    const { url } = (await other.call('signInOauth', APPLE)).body
    const { location } = await postForm(url, other, {}, limited.auth)
    expect((await other.open(location)).page).toBe('/home')
  }
})

test('a link works, although no cookie of the session comes with the form', async () => {
  const email = apple.person.email ?? ''
  await auth.createUser({ email })
  await browser.signIn(email)
  const { location } = await postForm(await begin('linkAccount'))
  expect((await browser.open(location)).page).toBe('/home')
  expect((await browser.call('listAccounts')).body.accounts).toHaveLength(2)
})

test.each([
  ['from a browser that has begun none', () => open(), {}],
  ['with another state', () => browser, { state: 'another' }],
])('a form %s is rejected', async (_name, from, changes) => {
  const { location } = await postForm(await begin(), from(), changes)
  expect(location).toBe('http://localhost:3000/?error=SIGN_IN_EXPIRED')
})

test('a name that could not be one is ignored', async () => {
  apple.added = { user: '{"name":' }
  const { location } = await postForm(await begin())
  await browser.open(location)
  expect((await browser.call('getSession')).body.user.name).toBe('New user')
})

test('a callback with JSON is rejected, and a GET of the posted one too', async () => {
  const headers = { 'content-type': 'application/json' }
  const json = await auth.handler(new Request(CALLBACK, { method: 'POST', headers, body: '{"state":"x"}' }))
  expect(json.status).toBe(415)
  expect((await auth.handler(new Request(`${CALLBACK}?state=x`))).status).toBe(405)
})
