import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AuthConfig, defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys, type SigningKeys } from '@sallyport/core/auth'
import { openSqlite, type SqliteAuthDatabase } from '@sallyport/core/sqlite'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchChromium } from '../../../trpc/test/browser/launch-chromium.ts'
import { type Example, startExample } from '../start-example.ts'
import { buildPages } from './build-pages.ts'
import { type Account, GUEST, openPage, recordTitles, skipBlur, titlesOf, type Visitor } from './visitor.ts'

/** The password of all users, including the demo users. */
export const PASSWORD = 'correct horse battery staple'

/** Tests that only `pnpm test:client` runs: other stories of a mechanism, and the details of pages. */
export const longTest: ReturnType<typeof test.runIf> = test.runIf(process.env.STORIES === 'all')

/** The example in its own process, a real Chromium, and the database. */
export interface ControlRoom {
  readonly db: SqliteAuthDatabase<unknown>['db']
  /** A new browser without a user. Closed after the test. */
  openBrowser(options?: BrowserContextOptions): Promise<Visitor>
  /** A new browser with a new user. */
  signUp(options?: BrowserContextOptions & { name?: string; role?: 'user' | 'admin' }): Promise<Visitor>
  /** Another browser of a user. */
  signIn(email: string, options?: BrowserContextOptions): Promise<Visitor>
  /** A browser for several tests, opened by the first one: opening takes as long as many a test. */
  share(open: () => Promise<Visitor>): () => Promise<Visitor>
  /** A user without a browser. */
  createUser(note: string): Promise<{ readonly email: string }>
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Starts the example again with the same address and database. */
  start(): Promise<void>
  /** Waits until the example has printed a match, and returns the latest one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
}

/** Digits only: the letters of a UUID can spell a name that a test looks for on the page. */
export const newEmail = (): string => `${crypto.getRandomValues(new BigUint64Array(2)).join('')}@example.com`

/** The server closes connections that were idle for 5 s. Browsers then send the request again. */
const AS_BROWSER = { maxRetries: 1, failOnStatusCode: true } as const

/** Slow enough for a page to show the progress of a report. */
const SETTINGS = { REPORT_STEP_MS: '60' }

/** Matches the message that Chromium logs for a response. */
export const logOf = (status: number): RegExp => new RegExp(`responded with a status of ${status} `)

/**
 * Opens a control room for the tests of a file. They are skipped only if no browser can run. A test fails if
 * a page logs an error or a warning, throws, or violates its Content-Security-Policy, which Chromium logs as
 * an error.
 */
export function openControlRoom(): ControlRoom {
  let browser: Browser | string = 'not open'
  let example: Example
  let database: SqliteAuthDatabase<unknown>
  let config: AuthConfig
  let signingKeys: SigningKeys
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-room-'))
  const contexts = new Map<BrowserContext, { readonly messages: string[]; readonly expected: RegExp[] }>()
  const shared = new Set<BrowserContext>()

  beforeAll(async () => {
    ;[browser] = await Promise.all([launchChromium(), buildPages()])
    if (typeof browser === 'string') return
    example = await startExample(SETTINGS, { folder })
    database = await openSqlite(`file:${join(folder, 'example.db')}`)
    signingKeys = parseSigningKeys(readFileSync(join(folder, 'keys/keys.json'), 'utf8'))
    config = defineAuthConfig({ baseUrl: example.url, jwks: staticJwks(signingKeys.publicJwks) })
  }, 60_000)
  beforeEach(({ skip }) => skip(typeof browser === 'string', String(browser)))
  afterEach(async () => {
    const unexpected: string[] = []
    for (const [context, { messages, expected }] of contexts) {
      const wasExpected = (message: string) => expected.some((pattern) => pattern.test(message))
      unexpected.push(...messages.splice(0).filter((message) => !wasExpected(message)))
      expected.splice(0)
      if (shared.has(context)) continue
      contexts.delete(context)
      await context.close()
    }
    expect(unexpected).toEqual([])
  })
  afterAll(async () => {
    if (typeof browser !== 'string') {
      await browser.close()
      await database.close()
      await stop('SIGKILL')
    }
    rmSync(folder, { recursive: true })
  })

  async function openContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    if (typeof browser === 'string') throw new Error(browser)
    const context = await browser.newContext({
      baseURL: example.url,
      viewport: { width: 1280, height: 800 },
      // Animations take time.
      reducedMotion: 'reduce',
      ...options,
    })
    context.setDefaultTimeout(30_000)
    await context.addInitScript(recordTitles)
    await context.addInitScript(skipBlur)
    const messages: string[] = []
    contexts.set(context, { messages, expected: [] })
    context.on('console', (message) => {
      const [type, { url }] = [message.type(), message.location()]
      if (type === 'error' || type === 'warning') messages.push(`${type}: ${message.text()} (${url})`)
    })
    context.on('weberror', (error) => messages.push(String(error.error().stack)))
    return context
  }

  async function visit(context: BrowserContext, account?: Account): Promise<Visitor> {
    const page = await context.newPage()
    return {
      context,
      page,
      ...(account ?? GUEST),
      open: (path) => openPage(page, path),
      async openTab(path) {
        const tab = await context.newPage()
        await openPage(tab, path)
        return tab
      },
      async call(path, data) {
        const headers = { 'x-sallyport': '1' }
        await context.request.post(`/trpc/${path}`, { data, headers, ...AS_BROWSER })
      },
      titles: () => titlesOf(page),
      mayLog: (pattern) => void contexts.get(context)?.expected.push(pattern),
      async expireJwt() {
        const { jwt: name } = config.cookies
        const value = await expiredJwtOf(account ?? GUEST, { key: signingKeys.active, config })
        await context.addCookies([{ name, value, url: example.url, httpOnly: true, sameSite: 'Lax' }])
      },
    }
  }

  async function enter(
    path: string,
    form: { email: string; name?: string },
    options?: BrowserContextOptions,
  ) {
    const context = await openContext(options)
    const answer = await context.request.post(`/api/auth${path}`, {
      data: { ...form, password: PASSWORD },
      headers: { 'x-sallyport': '1' },
      ...AS_BROWSER,
    })
    const { userId, sessionId }: Account = await answer.json()
    return visit(context, { email: form.email, userId, sessionId })
  }

  async function stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    example.process.kill(signal)
    await example.exit
  }

  return {
    get db() {
      return database.db
    },
    openBrowser: async (options) => visit(await openContext(options)),
    async signUp({ name = 'Grace', role = 'user', ...options } = {}) {
      const visitor = await enter('/sign-up/email', { name, email: newEmail() }, options)
      if (role === 'admin')
        await database.db.updateTable('user').set({ role }).where('id', '=', visitor.userId).execute()
      return visitor
    },
    signIn: (email, options) => enter('/sign-in/email', { email }, options),
    share(open) {
      let opened: Promise<Visitor> | undefined
      const openOnce = async () => {
        const visitor = await open()
        shared.add(visitor.context)
        return visitor
      }
      return () => {
        opened ??= openOnce()
        return opened
      }
    },
    async createUser(note) {
      const email = newEmail()
      const post = (path: string, body: object, cookie = '') =>
        fetch(`${example.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-sallyport': '1', cookie },
          body: JSON.stringify(body),
        })
      const answer = await post('/api/auth/sign-up/email', { name: 'Ada', email, password: PASSWORD })
      const cookies = answer.headers.getSetCookie().map((header) => header.split(';')[0])
      expect((await post('/trpc/notes.add', { text: note }, cookies.join('; '))).status).toBe(200)
      return { email }
    },
    stop,
    async printed(pattern) {
      const global = new RegExp(pattern, 'g')
      const find = () => [...example.output().matchAll(global)].at(-1)
      await expect.poll(find).toBeDefined()
      const match = find()
      if (match === undefined) throw new Error(`The example has not printed ${pattern}`)
      return match
    },
    async start() {
      example = await startExample({ ...SETTINGS, PORT: new URL(example.url).port }, { folder })
    },
  }
}

/** Issues a JWT that expired a minute ago. */
async function expiredJwtOf(
  { sessionId: id, userId }: Account,
  { key, config }: { key: SigningKeys['active']; config: AuthConfig },
): Promise<string> {
  const now = new Date(Date.now() - (config.jwtLifetimeSeconds + 60) * 1_000)
  const session = { id, userId, expiresAt: new Date(Date.now() + 60_000) }
  return (await issueJwt(session, { key, config, now })).token
}
