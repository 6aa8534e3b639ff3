import type { TestSession } from '@sallyport/core/testing'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { launchChromium } from './launch-chromium.ts'
import type { Site } from './serve-page.ts'

/** A real Chromium that all tests of a file share. */
export interface TestBrowser {
  /** A browser of a user of its own: tabs of one profile share cookies, locks and channels. It is closed after the test. */
  openProfile(site: Site): Promise<Profile>
}

/** What one person's browser keeps, and its tabs. */
export interface Profile {
  readonly context: BrowserContext
  /** Puts the cookies of a session into the browser, as a sign-in would. */
  signIn(session: TestSession): Promise<void>
  /**
   * Opens a page of the site and waits until it has loaded.
   *
   * @param path @default '/'
   */
  openTab<Exports extends PageExports = PageExports>(path?: string): Promise<Tab<Exports>>
  /** Replaces `Date`, `performance.now` and all timers in tabs that are opened from now on: they go on, and {@link Profile.sleep} moves them. */
  fakeClock(now?: Date): Promise<void>
  /** Moves the clock of every tab forward as a laptop's that was closed: each timer that has become due fires once. */
  sleep(seconds: number): Promise<void>
}

/** A page in the browser whose bundle exports functions. */
export interface Tab<Exports extends PageExports = PageExports> {
  readonly page: Page
  /** Calls a function that the page's entry exports, in the page. Arguments and result are copied. */
  run<Name extends keyof Exports & string>(
    name: Name,
    ...args: Parameters<Exports[Name]>
  ): Promise<Awaited<ReturnType<Exports[Name]>>>
}

type PageExports = Readonly<Record<string, (...args: never[]) => unknown>>

/**
 * Gives the tests of a file a real Chromium. They are skipped, and say why, only where none can run. A test fails where a page threw what
 * nobody caught.
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

/** Runs in the page, where what its entry exports is a global. */
function call<Result>({ name, args }: { name: string; args: unknown[] }): Result {
  const exported = bundled[name]
  if (exported === undefined) throw new TypeError(`The page exports no ${name}`)
  return exported(...args) as Result
}

declare const bundled: Readonly<Record<string, (...args: unknown[]) => unknown>>
