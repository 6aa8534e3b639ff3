/** Takes the screenshots of the documents and writes them to `docs/images`. */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchChromium } from '../../trpc/test/browser/launch-chromium.ts'
import { startExample } from '../test/start-example.ts'

const PASSWORD = 'correct horse battery staple'
const IMAGES = new URL('../../../docs/images/', import.meta.url)
const WINDOW = { width: 1280, height: 800 }
const HALF = { width: 639, height: 800 }

const MAC =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15'
const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'

const browser = await openChromium()
const example = await startExample()
mkdirSync(IMAGES, { recursive: true })
try {
  const mac = await signIn(MAC)
  await takeRevocation(mac, await signIn(PHONE))
} finally {
  await browser.close()
  example.process.kill()
  await example.exit
}

async function openChromium(): Promise<Browser> {
  const chromium = await launchChromium()
  if (typeof chromium !== 'string') return chromium
  console.error(`Screenshots need a browser: ${chromium}`)
  process.exit(1)
}

/** Opens a browser of Grace. */
async function signIn(userAgent: string): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: example.url,
    viewport: HALF,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    userAgent,
  })
  await context.request.post('/api/auth/sign-in/email', {
    data: { email: 'grace@example.com', password: PASSWORD },
    headers: { 'x-sallyport': '1' },
    failOnStatusCode: true,
  })
  return context
}

async function open(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(path, { waitUntil: 'networkidle' })
  return page
}

/** Two browsers side by side, after the left one has revoked the session of the right one. */
async function takeRevocation(mac: BrowserContext, phone: BrowserContext): Promise<void> {
  const [left, right] = [await open(mac, '/sessions'), await open(phone, '/notes')]
  await left.getByRole('button', { name: /^Revoke.*(iPhone|iOS)/ }).click()
  await left.getByRole('alertdialog').getByRole('button', { name: 'Revoke session' }).click()
  await right.getByText('Your session has ended').waitFor()
  await left.getByRole('status', { name: 'Your sessions: 1' }).waitFor()
  await left.getByRole('alertdialog').waitFor({ state: 'detached' })
  const halves = await Promise.all([left, right].map((page) => page.screenshot({ animations: 'disabled' })))

  const frame = await (await browser.newContext({ viewport: WINDOW })).newPage()
  const images = halves.map((half) => `<img src="data:image/png;base64,${half.toString('base64')}">`)
  await frame.setContent(
    `<body style="margin: 0; display: flex; gap: 2px; background: #8b8d98">${images.join('')}</body>`,
  )
  await frame.screenshot({ path: fileURLToPath(new URL('revocation.png', IMAGES)) })
  console.log('docs/images/revocation.png')
}
