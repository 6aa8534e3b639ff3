import type { Browser, Page } from 'playwright-core'

/** What a page shows after a step: its path, and all users whose data it contains. */
interface Seen {
  readonly step: string
  readonly path: string
  readonly users: readonly string[]
}

const USERS = ['grace@example.com', 'alan@example.com']

/** Two users, one after the other, in one tab of the app. */
export async function browse(browser: Browser, origin: string): Promise<{ seen: Seen[]; errors: string[] }> {
  const page = await browser.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  const look = async (step: string): Promise<Seen> => {
    const html = await page.content()
    const users = USERS.filter((user) => html.includes(user))
    return { step, path: new URL(page.url()).pathname, users }
  }
  const seen: Seen[] = []

  await page.goto(origin)
  await signUp(page, USERS[0])
  await page.getByText(USERS[0] ?? '').waitFor()
  seen.push(await look('signed up'))

  await page.evaluate('client.signOut()')
  await page.getByText('Home').waitFor()
  seen.push(await look('signed out'))

  await signUp(page, USERS[1])
  await page.getByText(USERS[1] ?? '').waitFor()
  seen.push(await look('another user signed in'))

  await page.goBack()
  await page.getByText('Home').waitFor()
  seen.push(await look('went back'))
  return { seen, errors }
}

/** Navigates right after the sign-up, as an app's form does. */
async function signUp(page: Page, email = ''): Promise<void> {
  await page.waitForFunction('window.client !== undefined')
  const input = JSON.stringify({ email, password: 'a long enough password', name: 'A user' })
  await page.evaluate(`client.api.signUpEmail(${input}).then(() => router.push('/me'))`)
}
