import type { TestSession } from '@sallyport/core/testing'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { launchChromium } from './launch-chromium.ts'
import type { Site } from './serve-page.ts'

/** A real Chromium that all tests of a file share. */
export interface TestBrowser {
  /**
   * Opens a separate browser profile, whose tabs share cookies, locks, and channels. The test closes it at
   * the end.
   */
  openProfile(site: Site): Promise<Profile>
}

/** A user's browser storage and tabs. */
export interface Profile {
  readonly context: BrowserContext
  /** Puts a session's cookies into the browser, as a sign-in does. */
  signIn(session: TestSession): Promise<void>
  /**
   * Opens a page of the site and waits until it has loaded.
   *
   * @param path @default '/'
   */
  openTab<Exports extends PageExports = PageExports>(path?: string): Promise<Tab<Exports>>
  /**
   * Replaces `Date`, `performance.now`, and all timers in tabs that are opened later. They keep running, and
   * {@link Profile.sleep} moves them.
   */
  fakeClock(now?: Date): Promise<void>
  /** Moves every tab's clock forward as if a laptop had been asleep: each due timer fires once. */
  sleep(seconds: number): Promise<void>
}

/** A page in the browser whose bundle exports functions. */
export interface Tab<Exports extends PageExports = PageExports> {
  readonly page: Page
  /** Calls a function that the page's entry exports, in the page. Copies the arguments and the result. */
  run<Name extends keyof Exports & string>(
    name: Name,
    ...args: Parameters<Exports[Name]>
  ): Promise<Awaited<ReturnType<Exports[Name]>>>
}

type PageExports = Readonly<Record<string, (...args: never[]) => unknown>>

/**
 * Gives the tests of a file a real Chromium. Skips them with a reason if none can run. A test fails if a page
 * threw an uncaught error.
 */
export function openBrowser(): TestBrowser {
  let browser: Browser | string = 'it is not open'
  const contexts = new Set<BrowserContext>()
  const uncaught: string[] = []

  beforeAll(async () => {
    browser = await launchChromium()
  }, 60_000)
  beforeEach(({ skip }) => skip(typeof browser === 'string', String(browser)))
  afterEach(async () => {
    await Promise.all([...contexts].map((context) => context.close()))
    contexts.clear()
    expect(uncaught.splice(0)).toEqual([])
  })
  afterAll(async () => {
    if (typeof browser !== 'string') await browser.close()
  })

  return {
    async openProfile(site) {
      if (typeof browser === 'string') throw new Error(browser)
      const context = await browser.newContext({ baseURL: site.origin })
      contexts.add(context)
      context.on('weberror', (error) => uncaught.push(String(error.error().stack)))
      return profileOf(context, site)
    },
  }
}

function profileOf(context: BrowserContext, { origin, auth }: Site): Profile {
  return {
    context,
    async signIn({ token, sessionCookie }) {
      const { jwt, session } = auth.config.cookies
      const cookie = { url: origin, httpOnly: true, sameSite: 'Lax' } as const
      await context.addCookies([
        { ...cookie, name: jwt, value: token },
        { ...cookie, name: session, value: sessionCookie },
      ])
    },
    async openTab<Exports extends PageExports>(path = '/'): Promise<Tab<Exports>> {
      const page = await context.newPage()
      await page.goto(path)
      return {
        page,
        run: <Name extends keyof Exports & string>(name: Name, ...args: Parameters<Exports[Name]>) =>
          page.evaluate(call<Awaited<ReturnType<Exports[Name]>>>, { name, args }),
      }
    },
    fakeClock: (now = new Date()) => context.clock.install({ time: now }),
    sleep: (seconds) => context.clock.fastForward(seconds * 1000),
  }
}

/** Runs in the page, where the entry's exports are a global. */
function call<Result>({ name, args }: { name: string; args: unknown[] }): Result {
  const exported = bundled[name]
  if (exported === undefined) throw new TypeError(`The page exports no ${name}`)
  return exported(...args) as Result
}

declare const bundled: Readonly<Record<string, (...args: unknown[]) => unknown>>
