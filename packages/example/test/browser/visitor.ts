import type { BrowserContext, Page } from 'playwright-core'

/** The signed-in user. */
export interface Account {
  readonly email: string
  readonly userId: string
  readonly sessionId: string
}

export const GUEST: Account = { email: '', userId: '', sessionId: '' }

/** A browser and its user. */
export interface Visitor extends Account {
  readonly context: BrowserContext
  readonly page: Page
  /** Opens a page, waits for its hydration, and returns the markup from the server. */
  open(path: string): Promise<string>
  /** Opens a page in another tab. */
  openTab(path: string): Promise<Page>
  /** Calls a mutation with the cookies of this browser, outside its pages. */
  call(path: string, input: object): Promise<void>
  /** The headings that the page has shown since it was loaded, in order. */
  titles(): Promise<string[]>
  /** Expects messages in the console: Chromium always logs responses such as 401. */
  mayLog(pattern: RegExp): void
  /** Replaces the JWT in the cookie with one that expired a minute ago. */
  expireJwt(): Promise<void>
}

/** Opens a page, waits for its hydration, and returns the markup from the server. */
export async function openPage(page: Page, path: string): Promise<string> {
  const answer = await page.goto(path)
  await hydrated(page)
  return answer === null ? '' : await answer.text()
}

/** Waits until React has hydrated the page that is open or about to open, so its buttons work. */
export async function hydrated(page: Page): Promise<void> {
  await page.waitForFunction(isHydrated, undefined, { polling: 20 })
}

/** Returns the headings that {@link recordTitles} has recorded. */
export const titlesOf = (page: Page): Promise<string[]> => page.evaluate(() => titles)

declare const titles: string[]

/** Runs in the page, before its scripts. */
export function recordTitles(): void {
  const titles: string[] = []
  Object.assign(globalThis, { titles })
  new MutationObserver(() => {
    const title = document.querySelector('h1')?.textContent
    if (title && title !== titles.at(-1)) titles.push(title)
  }).observe(document, { subtree: true, childList: true, characterData: true })
}

/** Runs in the page, before its scripts. Without a GPU, a blur takes most of the time of each frame. */
export function skipBlur(): void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('*, ::before { backdrop-filter: none !important }')
  document.adoptedStyleSheets.push(sheet)
}

/** Runs in the page. */
function isHydrated(): boolean {
  const main = document.querySelector('main')
  return main !== null && Object.keys(main).some((key) => key.startsWith('__reactProps'))
}
