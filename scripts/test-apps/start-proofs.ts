import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser } from './app.ts'
import { countHandles } from './count-handles.ts'
import { fetchAs } from './fetch-as.ts'

const EMAIL = 'alan@example.com'
const CREDENTIALS = { email: EMAIL, password: 'a long enough password' }
/** TanStack Start doesn't stream to robots, and takes a headless browser for one. */
const userAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/147.0.0.0 Safari/537.36'

/** Proves what only TanStack Start has: streamed queries, loaders, and server functions. */
export async function proveStart(origin: string, browser: Browser): Promise<void> {
  const context = await browser.newContext({ userAgent })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(origin)
  await page.waitForFunction('window.client')
  await page.evaluate(`client.api.signUpEmail(${JSON.stringify({ ...CREDENTIALS, name: 'Alan' })})`)
  const signIn = `client.api.signInEmail(${JSON.stringify(CREDENTIALS)})`

  const calls: string[] = []
  page.on('request', (request) => request.url().includes('/api/trpc/slow') && calls.push(request.url()))
  await page.goto(`${origin}/slow`, { waitUntil: 'commit' })
  await page.getByText('Waiting').waitFor()
  await page.getByText(`slow ${EMAIL}`).waitFor()
  assert.deepEqual(calls, [], 'the page streams what the server queried')

  await page.goto(`${origin}/slow`, { waitUntil: 'commit' })
  await page.waitForFunction('window.client')
  await page.evaluate('client.signOut()')
  await delay(3_000)
  const cached = 'queryClient.getQueryCache().getAll().map(({ queryKey }) => queryKey)'
  assert.deepEqual(await page.evaluate(cached), [], 'no query streams into the cache of the next user')

  await page.evaluate(signIn)
  await page.goto(`${origin}/loaded`)
  await page.getByText(`Loaded slow ${EMAIL}`).waitFor()
  await page.waitForFunction('window.client')
  await page.evaluate('client.signOut()')
  assert.equal(await page.getByText(EMAIL).count(), 0, "no loader's data outlives its user")
  await page.getByText('Loaded no user').waitFor()

  const rotate = 'rotateKey().catch((error) => error.message)'
  assert.notEqual(await page.evaluate(rotate), EMAIL)
  await page.evaluate(signIn)
  assert.equal(await page.evaluate(rotate), EMAIL)

  await context.clearCookies({ name: 'service.jwt' })
  assert.equal(await page.evaluate('fail().catch((error) => error.message)'), 'Failed')
  const jwts = (await context.cookies()).filter(({ name }) => name === 'service.jwt')
  assert.equal(jwts.length, 1, 'the cookies of a refresh are set if a server function throws')
  await context.close()
  await proveRequests(origin)
}

/** Proves responses to requests whose session has no JWT, or no longer exists. */
async function proveRequests(origin: string): Promise<void> {
  const user = await fetchAs(origin, CREDENTIALS)
  const cookie = user.header()
  const withoutJwt = cookie.replace(/[^; ]+\.jwt=[^;]*;? ?/, '')
  const load = (cookie: string) => fetch(`${origin}/me`, { headers: { cookie }, redirect: 'manual' })
  const refreshed = await load(withoutJwt)
  assert.match(await refreshed.text(), new RegExp(EMAIL))
  assert.match(refreshed.headers.getSetCookie().join(), /^service\.jwt=[^,]+$/)
  assert.equal(refreshed.headers.get('cache-control'), 'private, no-store')
  const failed = await fetch(`${origin}/failing`, { headers: { cookie: withoutJwt } })
  assert.equal(failed.status, 500)
  assert.match(failed.headers.getSetCookie().join(), /^service\.jwt=[^,]+$/)
  await user.fetch(`${origin}/api/auth/sign-out`, { method: 'POST', body: '{}' })
  const { status, headers } = await load(cookie)
  assert.deepEqual([status, headers.get('location')], [307, '/'], 'Step 2 runs before the page')
}

/** Proves that changes of a server file open no further connection, in a development server. */
export async function proveReloads(
  origin: string,
  { cwd, pid }: { cwd: string; pid: number },
): Promise<void> {
  const path = join(cwd, 'src/context.ts')
  const text = readFileSync(path, 'utf8')
  const headers = { 'x-sallyport': '1' }
  const call = () => fetch(`${origin}/api/auth/backend/token`, { headers })
  assert.equal((await call()).status, 401)
  const count = () => countHandles(pid, join(cwd, 'data/app.db'))
  const before = count()
  assert.ok(before > 0)
  for (let i = 0; i < 5; i++) {
    appendFileSync(path, `// ${i}\n`)
    await delay(500)
    assert.equal((await call()).status, 401)
  }
  writeFileSync(path, text)
  assert.equal(count(), before)
}
