/** Writes a picture of each page to docs/images: `pnpm screenshots`. */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { launchChromium } from '../../trpc/test/browser/launch-chromium.ts'
import { startExample } from '../test/start-example.ts'

const PASSWORD = 'correct horse battery staple'
const IMAGES = new URL('../../../docs/images/', import.meta.url)
const WINDOW = { width: 1280, height: 800 }
const HALF = { width: 639, height: 800 }

const LINUX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const MAC =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15'
const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'

const browser = await openChromium()
const example = await startExample({ REPORT_STEP_MS: '300' })
mkdirSync(IMAGES, { recursive: true })
try {
  await takeAll()
} finally {
  await browser.close()
  example.process.kill()
  await example.exit
}

async function takeAll(): Promise<void> {
  const stranger = await openWindow()
  for (const name of ['sign-in', 'sign-up']) await take(await open(stranger, `/${name}`), name)

  for (const name of ['Alan', 'Barbara', 'Katherine']) await signUp(name)
  const ada = await signIn('ada', { userAgent: LINUX })
  const grace = await signIn('grace', { userAgent: MAC })
  await writeAsGrace(grace)
  await take(await open(grace, '/notes'), 'notes')

  const phone = await signIn('grace', { userAgent: PHONE, viewport: HALF })
  await signIn('grace', { userAgent: LINUX })
  await take(await open(grace, '/sessions'), 'sessions')
  await take(await open(grace, '/account'), 'account')
  await take(await orderReport(grace), 'reports')
  await takeRevocation(grace, phone)
  await take(await open(grace, '/gate'), 'gate')

  await take(await banAsAdmin(ada), 'admin')
  await take(await playScenarios(await openWindow({ colorScheme: 'dark' })), 'gate-dark')
}

async function openChromium(): Promise<Browser> {
  const chromium = await launchChromium()
  if (typeof chromium !== 'string') return chromium
  console.error(`No screenshots: ${chromium}`)
  process.exit(1)
}

function openWindow(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({
    baseURL: example.url,
    viewport: WINDOW,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...options,
  })
}

/** Alive, and with what it fetches. */
async function open(context: BrowserContext, path: string): Promise<Page> {
  const page = context.pages()[0] ?? (await context.newPage())
  await page.goto(path, { waitUntil: 'networkidle' })
  return page
}

async function take(page: Page, name: string): Promise<void> {
  const path = fileURLToPath(new URL(`${name}.png`, IMAGES))
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' })
  console.log(`docs/images/${name}.png`)
}

async function post(context: BrowserContext, path: string, data: object): Promise<void> {
  await context.request.post(path, { data, headers: { 'x-sallyport': '1' }, failOnStatusCode: true })
}

async function signIn(name: string, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await openWindow(options)
  await post(context, '/api/auth/sign-in/email', { email: `${name}@example.com`, password: PASSWORD })
  return context
}

async function signUp(name: string): Promise<void> {
  const context = await openWindow({ userAgent: LINUX })
  const email = `${name.toLowerCase()}@example.com`
  await post(context, '/api/auth/sign-up/email', { name, email, password: PASSWORD })
  await context.close()
}

async function writeAsGrace(grace: BrowserContext): Promise<void> {
  for (const text of [
    'Ask Alan whether the old API key is still in use',
    'Rotate the signing keys on Thursday, after the release',
    'The moth goes into the logbook, with tape',
  ])
    await post(grace, '/trpc/notes.add', { text })
  await Promise.all(
    ['Sign-ins in October', 'Revoked sessions'].map((title) =>
      post(grace, '/trpc/report.generate', { id: crypto.randomUUID(), title }),
    ),
  )
}

/** A report of which more than a third is written. */
async function orderReport(grace: BrowserContext): Promise<Page> {
  const page = await open(grace, '/reports')
  await page.getByLabel('Title').fill('Bans and their reasons')
  await page.getByRole('button', { name: 'Generate' }).click()
  await page.getByText(/ [4-9]\d %/).waitFor()
  return page
}

/** Two browsers side by side, after the one has revoked the session of the other. */
async function takeRevocation(grace: BrowserContext, phone: BrowserContext): Promise<void> {
  const [here, there] = [await open(grace, '/sessions'), await open(phone, '/notes')]
  await here.setViewportSize(HALF)
  await here.getByRole('button', { name: /^Revoke.*(iPhone|iOS)/ }).click()
  await there.getByText('This session was ended').waitFor()
  await here.getByRole('status', { name: 'Your sessions: 2' }).waitFor()
  const halves = await Promise.all([here, there].map((page) => page.screenshot({ animations: 'disabled' })))
  await here.setViewportSize(WINDOW)

  const frame = await (await browser.newContext({ viewport: WINDOW })).newPage()
  const images = halves.map((half) => `<img src="data:image/png;base64,${half.toString('base64')}">`)
  await frame.setContent(
    `<body style="margin: 0; display: flex; gap: 2px; background: #8b8d98">${images.join('')}</body>`,
  )
  await take(frame, 'revocation')
}

async function banAsAdmin(ada: BrowserContext): Promise<Page> {
  const page = await open(ada, '/admin')
  await page.getByRole('button', { name: /^Ban.*barbara/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('Shared the password with a robot')
  await dialog.getByLabel('1 day').check()
  await dialog.getByRole('button', { name: 'Ban' }).click()
  await page.getByText('Banned until').waitFor()
  return page
}

async function playScenarios(context: BrowserContext): Promise<Page> {
  const page = await open(context, '/gate')
  for (const scenario of ['Normal', 'Admin revokes session', 'JWT expired, session valid']) {
    const row = page
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: scenario, exact: true }) })
    await row.getByRole('button').click()
    await row.getByText('As specified').waitFor()
  }
  await page.getByRole('heading', { name: 'The seven states' }).evaluate((heading) => {
    heading.scrollIntoView()
  })
  return page
}
