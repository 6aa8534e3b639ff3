import type { BrowserContext, Page } from 'playwright-core'

/** Who is signed in. */
export interface Account {
  readonly email: string
  readonly userId: string
  readonly sessionId: string
}

export const NOBODY: Account = { email: '', userId: '', sessionId: '' }

/** A browser and whoever sits in front of it. */
export interface Visitor extends Account {
  readonly context: BrowserContext
  readonly page: Page
  /** Goes to a page, waits until it is alive, and returns the markup that came from the server. */
  open(path: string): Promise<string>
  /** The same in a further tab. */
  openTab(path: string): Promise<Page>
  /** Calls a mutation with the cookies of this browser, and not from a page. */
  call(path: string, input: object): Promise<void>
  /** The titles that the page has shown since it was loaded, one after the other. */
  titles(): Promise<string[]>
  /** Some messages of the browser's console belong to what is tested: no page can keep Chromium from telling of an answer with 401. */
  mayLog(pattern: RegExp): void
  /** Puts a JWT that has expired a minute ago in the place of the one in the cookie. */
  expireJwt(): Promise<void>
}

/** Goes to a page, waits until React has taken it over, and returns the markup that came from the server. */
export async function openPage(page: Page, path: string): Promise<string> {
  const answer = await page.goto(path)
  await page.waitForFunction(isAlive, undefined, { polling: 20 })
  return answer === null ? '' : await answer.text()
}

/** What {@link noteTitles} has noted. */
export const titlesOf = (page: Page): Promise<string[]> => page.evaluate(() => titles)

declare const titles: string[]

/** Runs in the page before its own scripts. */
export function noteTitles(): void {
  const titles: string[] = []
  Object.assign(globalThis, { titles })
  new MutationObserver(() => {
    const title = document.querySelector('h1')?.textContent
    if (title && title !== titles.at(-1)) titles.push(title)
  }).observe(document, { subtree: true, childList: true, characterData: true })
}

/** Runs in the page. */
function isAlive(): boolean {
  const main = document.querySelector('main')
  return main !== null && Object.keys(main).some((key) => key.startsWith('__reactProps'))
}
