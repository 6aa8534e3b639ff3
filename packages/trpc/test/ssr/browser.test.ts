import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthContext } from '@sallyport/trpc'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { expect, test } from 'vitest'
import { openBrowser, type Profile } from '../browser/open-browser.ts'
import { type Site, servePage } from '../browser/serve-page.ts'
import { createPages } from './hono/pages.tsx'
import { appRouter, EVIL_TEXT } from './hono/router.ts'
import { renderPage } from './hono/stream-page.tsx'

const browser = openBrowser()
const TOKEN = '/api/auth/backend/token'

/** Serves a Hono app with server-rendered pages. */
function serveNotes({
  token = 'in this process',
}: {
  token?: 'in this process' | 'elsewhere'
} = {}): Promise<Site> {
  const apps = new WeakMap<Site, (request: Request) => Promise<Response | null>>()

  function createApp({ auth, origin }: Site) {
    const source = token === 'elsewhere' ? { url: origin } : auth.handler
    const serverAuth = createServerAuth({ config: auth.config, token: source })
    const authContext = createAuthContext(auth.config)
    const pageContext = (headers: Headers) => ({ ...authContext.headers(headers), db: auth.db })
    const pages = createPages(serverAuth, pageContext)
    return async (request: Request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/notes') return pages.fetch(request)
      if (pathname !== '/stream') return null
      const page = await serverAuth(request)
      return renderPage(page, () => pageContext(page.headers))
    }
  }

  return servePage({
    entry: new URL('./hono/entry-client.tsx', import.meta.url),
    router: appRouter,
    handler(request, site) {
      const app = apps.get(site) ?? createApp(site)
      apps.set(site, app)
      return app(request)
    },
  })
}

/** Records everything that a page ever shows. */
async function watch({ context }: Profile): Promise<void> {
  await context.addInitScript(() => {
    const shown = new Set<string>()
    Object.assign(window, { shown })
    const look = () => {
      const text = document.getElementById('root')?.textContent
      if (text) shown.add(text)
    }
    new MutationObserver(look).observe(document, { childList: true, characterData: true, subtree: true })
    addEventListener('load', look)
  })
}

const shown = (tab: Awaited<ReturnType<Profile['openTab']>>) =>
  tab.page.evaluate(() => [...(window as typeof window & { shown: Set<string> }).shown])

const requestsOf = ({ requests }: Site) =>
  requests.map(({ path }) => path).filter((path) => path.startsWith('/api') || path.startsWith('/trpc'))

const notesOf = (userId: string) => `A note of ${userId}`

test.each(['/notes', '/stream'])(
  "Hono's page at %s has its user's notes before any script runs, and the script doesn't request them again",
  async (path) => {
    await using site = await serveNotes()
    const profile = await browser.openProfile(site)
    await watch(profile)
    const ada = await site.auth.signIn()
    await profile.signIn(ada)
    const tab = await profile.openTab(path)
    await tab.page.getByText(notesOf(ada.userId)).waitFor()
    // Anything fetched after the first render has been requested by then.
    await tab.page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)))
    expect(requestsOf(site)).toEqual([])
    const texts = await shown(tab)
    expect(texts.filter((text) => text.includes('Sign in') || text.includes('One moment'))).toEqual([])
    const html = await (await tab.page.request.get(path)).text()
    expect(html).toContain(`<p>${notesOf(ada.userId)}</p>`)
  },
)

test('a page with an expired JWT gets a new one invisibly', async () => {
  await using site = await serveNotes()
  const profile = await browser.openProfile(site)
  await watch(profile)
  const ada = await site.auth.expireJwt(await site.auth.signIn())
  await profile.signIn(ada)
  const tab = await profile.openTab('/notes')
  await tab.page.getByText(notesOf(ada.userId)).waitFor()
  const texts = await shown(tab)
  expect(texts.filter((text) => text.includes('Sign in') || text.includes('One moment'))).toEqual([])
  const jwt = (await profile.context.cookies()).find(({ name }) => name === site.auth.config.cookies.jwt)
  expect([jwt?.httpOnly, jwt?.value === ada.token]).toEqual([true, false])
  expect(await (await tab.page.request.get('/trpc/me')).json()).toEqual({
    result: { data: { id: ada.userId } },
  })
  expect(site.count(TOKEN)).toBe(0)
})

test('a page safely shows text that users wrote', async () => {
  await using site = await serveNotes()
  const profile = await browser.openProfile(site)
  await profile.signIn(await site.auth.signIn())
  const tab = await profile.openTab('/notes')
  await tab.page.getByText(EVIL_TEXT).waitFor()
  expect(await tab.page.evaluate(() => 'harmed' in window)).toBe(false)
})
test('a revoked user sees the sign-in page, and the browser loses the cookies', async () => {
  await using site = await serveNotes()
  const profile = await browser.openProfile(site)
  const ada = await site.auth.expireJwt(await site.auth.signIn())
  await profile.signIn(ada)
  await site.auth.revoke(ada)
  const tab = await profile.openTab('/notes')
  await tab.page.getByText('Sign in').waitFor()
  expect(await profile.context.cookies()).toEqual([])
  expect(requestsOf(site)).toEqual([])
})

test('a recently revoked user with a valid JWT sees the sign-in page', async () => {
  await using site = await serveNotes()
  const profile = await browser.openProfile(site)
  const ada = await site.auth.signIn()
  await profile.signIn(ada)
  await site.auth.revoke(ada)
  const tab = await profile.openTab('/notes')
  await tab.page.getByText('Sign in').waitFor()
  expect(await tab.page.content()).not.toContain(ada.userId)
})

test('a banned user sees the ban', async () => {
  await using site = await serveNotes()
  const profile = await browser.openProfile(site)
  const ada = await site.auth.expireJwt(await site.auth.signIn())
  await profile.signIn(ada)
  await site.auth.ban(ada)
  const tab = await profile.openTab('/notes')
  await tab.page.getByText('Account banned').waitFor()
  expect(await profile.context.cookies()).toHaveLength(2)
})

test("while the database is down, the page doesn't show the sign-in form, and it recovers afterwards", async () => {
  await using site = await serveNotes({ token: 'elsewhere' })
  const profile = await browser.openProfile(site)
  await watch(profile)
  const ada = await site.auth.expireJwt(await site.auth.signIn())
  await profile.signIn(ada)
  site.isDatabaseDown = true
  const tab = await profile.openTab('/notes')
  await tab.page.getByText('One moment').waitFor()
  site.isDatabaseDown = false
  await tab.page.getByText(notesOf(ada.userId)).waitFor()
  expect((await shown(tab)).filter((text) => text.includes('Sign in'))).toEqual([])
})

test("after a sign-out, the page has none of the user's data", async () => {
  await using site = await serveNotes()
  const profile = await browser.openProfile(site)
  const ada = await site.auth.signIn()
  await profile.signIn(ada)
  const tab = await profile.openTab('/notes')
  await tab.page.getByText('Sign out').click()
  await tab.page.getByText('Sign in').waitFor()
  expect(await tab.page.content()).not.toContain(ada.userId)
})

test.each(['query-client.ts', 'app.tsx', 'pages.tsx', 'entry-client.tsx'])(
  'docs/ssr.md has the text of %s',
  (part) => {
    const code = readFileSync(join(import.meta.dirname, 'hono', part), 'utf8')
    const language = part.endsWith('x') ? 'tsx' : 'ts'
    const document = readFileSync(join(import.meta.dirname, '../../../../docs/ssr.md'), 'utf8')
    expect(document).toContain(`\`\`\`${language}\n// ${part}\n${code}\`\`\`\n`)
  },
)
