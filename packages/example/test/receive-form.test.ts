import { randomBytes } from 'node:crypto'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { buildPages } from './browser/build-pages.ts'
import { BASE_URL, type OpenApp, openApp } from './open-app.ts'

let app: OpenApp
beforeAll(async () => {
  await buildPages()
  // A sign-up prints a link.
  vi.spyOn(console, 'log').mockImplementation(() => {})
  app = await openApp()
})
afterAll(() => app.close())

const OWN = { origin: BASE_URL, 'sec-fetch-site': 'same-origin' }
const GRACE = { email: 'grace@example.com', password: 'correct horse battery staple' }

const post = (path: string, values: Record<string, string>, headers: Record<string, string> = OWN) =>
  app.send(new Request(`${BASE_URL}${path}`, { method: 'POST', headers, body: new URLSearchParams(values) }))

test.each([
  ['/sign-in', GRACE],
  ['/sign-up', { name: 'Alan', email: 'alan@example.com', password: GRACE.password }],
])('%s sets the cookies and redirects', async (path, values) => {
  const response = await post(path, values)
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe('/notes')
  const names = response.headers.getSetCookie().map((cookie) => cookie.split('=')[0])
  expect(names).toEqual(expect.arrayContaining(['service.jwt', 'service.session']))
})

test.each([
  ['/sessions', '/sessions'],
  ['/sign-up', '/notes'],
  ['https://evil.example/', '/notes'],
  ['//evil.example/sessions', '/sessions'],
  ['/unknown', '/notes'],
])('next=%s redirects to %s', async (next, location) => {
  const response = await post('/sign-in', { ...GRACE, next })
  expect(response.headers.get('location')).toBe(location)
})

test.each([
  ['a wrong password', { ...GRACE, password: 'a wrong password' }, 401, 'Email or password is wrong'],
  ['an invalid email', { ...GRACE, email: 'grace@' }, 400, 'Enter a valid email address.'],
])('%s is rejected on the page, which keeps the email', async (_name, values, status, message) => {
  const response = await post('/sign-in', values)
  expect(response.status).toBe(status)
  expect(response.headers.getSetCookie()).toEqual([])
  const markup = await response.text()
  expect(markup).toContain(message)
  expect(markup).toContain(`value="${values.email}"`)
  expect(markup).not.toContain('a wrong password')
})

test.each([
  ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
  ['another origin of this site', { origin: 'http://localhost:4000', 'sec-fetch-site': 'same-site' }],
  ['an unknown origin', {}],
])('a form from %s is rejected', async (_name, headers) => {
  const response = await post('/sign-in', GRACE, headers)
  expect(response.status).toBe(403)
  expect(response.headers.getSetCookie()).toEqual([])
})

test('/sign-out ends the session, clears the cookies, and redirects', async () => {
  const cookie = (await post('/sign-in', GRACE)).headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  const rejected = await post('/sign-out', {}, { cookie, origin: 'https://evil.example' })
  expect(rejected.status).toBe(403)
  expect(await rejected.text()).toContain('This origin is neither')
  const response = await post('/sign-out', {}, { ...OWN, cookie })
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe('/notes')
  expect(response.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^service\.jwt=;.*Max-Age=0/),
    expect.stringMatching(/^service\.session=;.*Max-Age=0/),
  ])
  const page = await app.send(new Request(`${BASE_URL}/sessions`, { headers: { cookie } }))
  expect(await page.text()).not.toContain('This browser')
})

test('a body over the limit is rejected', async () => {
  const response = await post('/sign-in', { ...GRACE, name: 'x'.repeat(70_000) })
  expect(response.status).toBe(413)
})

test('in production, the pages have no demo users and send no emails', async () => {
  const signingKeys = { keys: [await createSigningKey()] }
  const production = await openApp({
    NODE_ENV: 'production',
    SIGNING_KEYS: JSON.stringify(signingKeys),
    ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
    JWKS: JSON.stringify(parseSigningKeys(signingKeys).publicJwks),
  })
  const signIn = await production.send(new Request(`${BASE_URL}/sign-in`))
  expect(await signIn.text()).not.toMatch(/Sign in as|correct horse battery staple/)
  const body = new URLSearchParams({ email: 'grace@example.com' })
  const init = { method: 'POST', headers: OWN, body }
  const forgotten = await production.send(new Request(`${BASE_URL}/forgot-password`, init))
  expect(forgotten.status).toBe(501)
  const markup = await forgotten.text()
  expect(markup).toContain('This app does not send emails')
  expect(markup).not.toContain('In development')
  await production.close()
})
