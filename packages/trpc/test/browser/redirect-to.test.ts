import { AUTH_PATH, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { expect, test } from 'vitest'
import { openBrowser } from './open-browser.ts'
import { servePage } from './serve-page.ts'

type ClientPage = typeof import('./pages/client-page.ts')

const SIGN_IN = `${AUTH_PATH}${ENDPOINTS.signInEmail.path}`
const browser = openBrowser()
const entry = new URL('./pages/client-page.ts', import.meta.url)

test('a sign-in and a sign-out load the page of `redirectTo` afterwards', async () => {
  await using site = await servePage({ entry })
  const { email, userId } = await site.auth.createUser()
  const profile = await browser.openProfile(site)
  const tab = await profile.openTab<ClientPage>('/sign-in')
  await tab.run('beginSignIn', email, TEST_PASSWORD, '/notes?page=2')
  await tab.page.waitForURL(`${site.origin}/notes?page=2`)
  expect((await tab.run('ask')).data).toBe(userId)
  await tab.run('beginSignOutTo', `${site.origin}/bye`)
  await tab.page.waitForURL(`${site.origin}/bye`)
  expect((await tab.run('ask')).reason).toBe('SESSION_NOT_FOUND')
})

test('a sign-in that fails loads no page', async () => {
  await using site = await servePage({ entry })
  const profile = await browser.openProfile(site)
  const tab = await profile.openTab<ClientPage>('/sign-in')
  expect(await tab.run('signInTo', '/notes')).toBe('INVALID_CREDENTIALS')
  expect(tab.page.url()).toBe(`${site.origin}/sign-in`)
})

test('a `redirectTo` of another origin is rejected before the request', async () => {
  await using site = await servePage({ entry })
  const profile = await browser.openProfile(site)
  const tab = await profile.openTab<ClientPage>('/sign-in')
  const { host } = new URL(site.origin)
  for (const redirectTo of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\t//evil.example',
    `https://${host}@evil.example/`,
    `${site.origin}@evil.example/`,
    `https://${host}/`,
    `http://ada@${host}/`,
    `blob:${site.origin}/notes`,
    `view-source:${site.origin}/`,
    'javascript:alert(1)',
    'data:text/html,hello',
    'http://[',
  ])
    expect(await tab.run('signInTo', redirectTo), redirectTo).toBe('REDIRECT_REJECTED')
  expect(site.count(SIGN_IN)).toBe(0)
  expect(tab.page.url()).toBe(`${site.origin}/sign-in`)
})
