import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AuthConfig, defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys, type SigningKeys } from '@sallyport/core/auth'
import { openSqlite, type SqliteAuthDatabase } from '@sallyport/core/sqlite'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { launchChromium } from '../../../trpc/test/browser/launch-chromium.ts'
import { type Example, startExample } from '../start-example.ts'
import { buildPages } from './build-pages.ts'
import { type Account, NOBODY, noteTitles, openPage, titlesOf, type Visitor } from './visitor.ts'

/** The password of everyone here, that of the demo users too. */
export const PASSWORD = 'correct horse battery staple'

/** The example as a process of its own, a real Chromium, and the database file for what no page does. */
export interface ControlRoom {
  readonly db: SqliteAuthDatabase<unknown>['db']
  /** A browser of its own that nobody is signed in to. It is closed after the test. */
  openBrowser(options?: BrowserContextOptions): Promise<Visitor>
  /** The browser of a new user. */
  signUp(options?: BrowserContextOptions & { name?: string; role?: 'user' | 'admin' }): Promise<Visitor>
  /** A further browser of a user. */
  signIn(email: string, options?: BrowserContextOptions): Promise<Visitor>
  /** A browser for several tests, which the first of them opens: each costs as much as many a test. */
  share(open: () => Promise<Visitor>): () => Promise<Visitor>
  /** A user who has no browser here. */
  createUser(note: string): Promise<{ readonly email: string }>
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** The same address and the same file. */
  start(): Promise<void>
}

export const newEmail = (): string => `${crypto.randomUUID()}@example.com`

/** Long enough for the page to show each step of a report. */
const SETTINGS = { REPORT_STEP_MS: '60' }

/** What Chromium itself writes of an answer. */
export const logOf = (status: number): RegExp => new RegExp(`responded with a status of ${status} `)

/**
 * Gives the tests of a file a control room. They are skipped, and say why, only where no browser can run. A test fails where a page logged
 * an error or a warning, threw something, or did what its Content-Security-Policy forbids, of which Chromium logs an error.
 */
export function openControlRoom(): ControlRoom {
  let browser: Browser | string = 'it is not open'
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
      // Nothing has to be waited for, or painted, on its way.
      reducedMotion: 'reduce',
      ...options,
    })
    context.setDefaultTimeout(10_000)
    await context.addInitScript(noteTitles)
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
      ...(account ?? NOBODY),
      open: (path) => openPage(page, path),
      async openTab(path) {
        const tab = await context.newPage()
        await openPage(tab, path)
        return tab
      },
      async call(path, data) {
        const headers = { 'x-sallyport': '1' }
        await context.request.post(`/trpc/${path}`, { data, headers, failOnStatusCode: true })
      },
      titles: () => titlesOf(page),
      mayLog: (pattern) => void contexts.get(context)?.expected.push(pattern),
      async expireJwt() {
        const { jwt: name } = config.cookies
        const value = await expiredJwtOf(account ?? NOBODY, { key: signingKeys.active, config })
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
      failOnStatusCode: true,
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
    async start() {
      example = await startExample({ ...SETTINGS, PORT: new URL(example.url).port }, { folder })
    },
  }
}

/** A JWT of a session that has expired a minute ago. */
async function expiredJwtOf(
  { sessionId: id, userId }: Account,
  { key, config }: { key: SigningKeys['active']; config: AuthConfig },
): Promise<string> {
  const now = new Date(Date.now() - (config.jwtLifetimeSeconds + 60) * 1_000)
  const session = { id, userId, expiresAt: new Date(Date.now() + 60_000) }
  return (await issueJwt(session, { key, config, now })).token
}
