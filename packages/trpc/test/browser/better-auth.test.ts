// The links with Better Auth's own client, in a real browser.
import { expect, test, vi } from 'vitest'
import { launchChromium } from './launch-chromium.ts'
import { serveBetterAuth } from './serve-better-auth.ts'

/** `pnpm test:better-auth`. */
const isLong = process.env.BETTER_AUTH_STORIES !== undefined

const wait = (test: () => Promise<void>) => vi.waitFor(test, { timeout: 30_000, interval: 50 })

async function openPage() {
  const browser = await launchChromium()
  if (typeof browser === 'string') return expect.fail(browser)
  const page = await browser.newPage()
  return { browser, page, run: (call: string) => page.evaluate<string[]>(`bundled.${call}`) }
}

test.each(['ws', 'sse'] as const)('a stream over %s follows the session of the page', async (transport) => {
  await using site = await serveBetterAuth()
  const { browser, page, run } = await openPage()
  await page.goto(site.origin)
  for (const email of ['ada@example.com', 'bob@example.com']) await run(`signUp('${email}')`)
  expect(await run('me()')).toBe('bob@example.com')
  // At once, although Better Auth's client doesn't know of the new user yet.
  await run(`signIn('ada@example.com').then(() => bundled.follow('${transport}'))`)
  await wait(async () => expect((await run('read()')).length).toBeGreaterThan(3))
  expect(new Set(await run('read()'))).toEqual(new Set(['ada@example.com']))

  // Another user signs in on the same page.
  await run("signIn('bob@example.com')")
  await wait(async () => expect((await run('read()')).at(-1)).toBe('complete'))
  const count = (await run('read()')).length
  await run(`follow('${transport}')`)
  await wait(async () => expect((await run('read()')).length).toBeGreaterThan(3))
  expect(new Set(await run('read()'))).toEqual(new Set(['bob@example.com']))
  expect(count).toBeGreaterThan(3)
  expect(await run('me()')).toBe('bob@example.com')

  expect(await run('signOut().then(bundled.me)')).toBe('SESSION_NOT_FOUND')
  await wait(async () => expect((await run('read()')).at(-1)).toMatch(/complete|SESSION_NOT_FOUND/))
  await browser.close()
})

test.each(['ws', 'sse'] as const)(
  'a stream over %s never ends a session that replaces its own',
  async (transport) => {
    await using site = await serveBetterAuth()
    const { browser, page, run } = await openPage()
    await page.goto(site.origin)
    await run("signUp('ada@example.com')")
    await run(`follow('${transport}')`)
    await wait(async () => expect((await run('read()')).at(-1)).toBe('ada@example.com'))
    const asked = page.waitForResponse(/disableCookieCache/)
    await run('changePassword()')
    await wait(async () => expect((await run('read()')).at(-1)).toBe('SESSION_NOT_FOUND'))
    await asked
    // A call made before the page knows of the new session is rejected. A session that has ended stays so.
    await wait(async () => expect(await run('me()')).toBe('ada@example.com'))
    await browser.close()
  },
)

test.runIf(isLong)(
  'a page sees a ban at once, and after a sign-out the back button finds no user',
  async () => {
    await using site = await serveBetterAuth()
    const { browser, page, run } = await openPage()

    await page.goto(`${site.origin}/first`)
    await run("signUp('bob@example.com')")
    expect(await run('me()')).toBe('bob@example.com')
    await page.goto(`${site.origin}/second`)
    await run('signOut()')
    await page.goBack()
    expect(page.url()).toBe(`${site.origin}/first`)
    expect(await run('me()')).toBe('SESSION_NOT_FOUND')

    for (const transport of ['ws', 'sse']) {
      const email = `${transport}@example.com`
      await run(`signUp('${email}').then(() => bundled.follow('${transport}'))`)
      await wait(async () => expect((await run('read()')).at(-1)).toBe(email))
      await site.ban(email)
      await wait(async () => expect((await run('read()')).at(-1)).toBe('ACCOUNT_BANNED'))
      await wait(async () => expect(await run('me()')).toMatch(/ACCOUNT_BANNED|SESSION_NOT_FOUND/))
    }
    await browser.close()
  },
)
