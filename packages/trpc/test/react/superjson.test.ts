// `@trpc/react-query` with superjson, as in docs/react-query.md and docs/transformers.md.
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createAuthContext } from '@sallyport/trpc'
import { inlineJson } from '@sallyport/trpc/ssr'
import { createServerSideHelpers } from '@trpc/react-query/server'
import superjson from 'superjson'
import { expect, test } from 'vitest'
import { openBrowser } from '../browser/open-browser.ts'
import type { Site } from '../browser/serve-page.ts'
import { serveApp } from './serve-app.ts'
import { superjsonRouter } from './superjson-router.ts'

type Exports = typeof import('./pages/superjson-page.tsx')

const TOKEN = `/api/auth${ENDPOINTS.token.path}`
const browser = openBrowser()
const entry = new URL('./pages/superjson-page.tsx', import.meta.url)
const serve = () => serveApp({ entry, router: superjsonRouter, handler: render })

/** Renders a page with the queries of its user. */
async function render(request: Request, { auth }: Site): Promise<Response | null> {
  if (new URL(request.url).pathname !== '/rendered') return null
  const ctx = { ...createAuthContext(auth.config).headers(request.headers), db: auth.db }
  const helpers = createServerSideHelpers({ router: superjsonRouter, ctx, transformer: superjson })
  await helpers.summary.prefetch()
  const script = `<script>queries = ${inlineJson(helpers.dehydrate())}</script><script src="/page.js"></script>`
  const headers = { 'content-type': 'text/html; charset=utf-8' }
  return new Response(`<!doctype html><body>${script}</body>`, { headers })
}

/** Opens a page of a new user. */
async function open(site: Site, { isExpired = false, path = '/' } = {}) {
  const signedIn = await site.auth.signIn()
  const session = isExpired ? await site.auth.expireJwt(signedIn) : signedIn
  const profile = await browser.openProfile(site)
  await profile.signIn(session)
  const tab = await profile.openTab<Exports>(path)
  const shows = (id: string, text: string) => tab.page.locator(`#${id}`, { hasText: text }).waitFor()
  return { ...tab, session, shows }
}

test('suspense, infinite queries, subscriptions, and errors carry dates, maps, and sets', async () => {
  await using site = await serve()
  const { page, session, shows } = await open(site)
  await shows('summary', `${session.userId} 2026 12`)
  await shows('notes', '21')
  await page.getByText('More').click()
  await shows('notes', '21, 22')
  await shows('socketClock', '12')
  await shows('clock', '12')
  site.forget()
  await page.getByText('Save').click()
  await shows('save', '21')
  await expect.poll(() => site.count('/trpc/summary')).toBe(1)
})

test('a rejected JWT is refreshed once, and each query is sent again', async () => {
  await using site = await serve()
  const { session, shows, page } = await open(site, { isExpired: true })
  await shows('summary', session.userId)
  await shows('notes', '21')
  site.forget()
  site.auth.clock.advance(16 * 60)
  await page.getByText('More').click()
  await shows('notes', '21, 22')
  expect(site.count(TOKEN)).toBe(1)
})

test('a sign-out removes every query, and a revocation ends the subscriptions', async () => {
  await using site = await serve()
  const { page, run, shows } = await open(site)
  await shows('clock', '12')
  await page.getByText('Sign out').click()
  await page.getByText('Signed out').waitFor()
  expect(await run('cached')).toBe(0)

  const other = await open(site)
  await other.shows('clock', '12')
  await site.auth.revoke(other.session)
  await other.page.getByText('Signed out').waitFor()
  expect(await other.run('cached')).toBe(0)
})

test('the helpers for server-side rendering put the queries of the user into the page', async () => {
  await using site = await serve()
  const { session, shows } = await open(site, { path: '/rendered' })
  await shows('summary', `${session.userId} 2026 12`)
  expect(site.count('/trpc/summary')).toBe(0)
})
