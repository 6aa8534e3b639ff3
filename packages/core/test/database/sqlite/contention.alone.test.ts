import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { SessionCookie } from '@sallyport/core'
import { commit, createAuth, createSession } from '@sallyport/core/auth'
import { oauth } from '@sallyport/core/plugins/oauth'
import { totp } from '@sallyport/core/plugins/totp'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { replaceCredentials } from '../../../src/lifecycle/replace-credentials.ts'
import { newPerson, openBrowser } from '../../plugins/oauth/browser.ts'
import { startLocalProvider } from '../../plugins/oauth/local-provider.ts'
import { CLIENT } from '../../plugins/oauth/oidc-server.ts'
import { startFixture } from '../../support/child-process.ts'
import { parseSessionCookie } from '../../support/session-cookie.ts'
import { type AppClient, SQLITE_CLIENTS } from '../../support/sqlite-clients.ts'
import { storeSession } from '../../support/stored-sessions.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { totpCode } from '../../support/totp-code.ts'

const directory = temporaryDirectory()
const acme = await startLocalProvider()
const { config, definition, close } = await createTestAuth({
  plugins: [totp({ issuer: 'Test' }), oauth({ providers: { acme: { ...CLIENT, issuer: acme.issuer } } })],
})
afterAll(close)
const LIMIT = { points: 150, duration: 3600 }
/** The tests are about what is read and stored, on a machine of any speed. */
const PATIENT = { busyTimeoutMs: 60_000 }

/** Opens our database with the client of an app that has a table `note`. */
async function openNotes(app: AppClient) {
  onTestFinished(app.close)
  await app.run('pragma journal_mode = wal')
  const database = await openSqlite({ client: app.client })
  onTestFinished(database.close)
  await app.run('create table note (text)')
  return { app, database }
}

/** Runs the work while the app writes in each turn of the event loop. */
async function writeDuring(app: AppClient, work: () => Promise<void>): Promise<void> {
  let isDone = false
  async function write() {
    while (!isDone) {
      await app.run("insert into note values ('a')")
      await nextTurn()
    }
  }
  const working = work().finally(() => {
    isDone = true
  })
  await Promise.all([working, write()])
}

test.each(
  Object.entries(SQLITE_CLIENTS).flatMap(([name, open]) =>
    ['delete', 'wal'].map((mode) => ({ name, open, mode })),
  ),
)(
  '$name, in $mode mode: every write is stored while another process writes',
  async ({ name, open, mode }) => {
    const path = join(directory, `${name.replace('/', '-')}-${mode}.db`)
    const app = open(path)
    onTestFinished(app.close)
    await app.run(`pragma journal_mode = ${mode}`)
    const { db, limits, sessions, close } = await openSqlite({ client: app.client }, PATIENT)
    onTestFinished(close)
    await app.run('create table note (text)')
    const ada = await storeSession(app)
    const writer = startFixture('writeOften', path, '50')
    onTestFinished(() => writer.kill())
    expect(await writer.nextMessage()).toBe('writing')
    const work = Array.from({ length: LIMIT.points }, async (_, version) => {
      expect(await limits.consume('a', LIMIT)).toBeNull()
      await db.transaction().execute(async (trx) => {
        await trx.selectFrom('user').select('id').execute()
        await trx.updateTable('session').set({ version }).where('id', '=', ada.sessionId).execute()
      })
      expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
    })
    await Promise.all(work)
    expect(await limits.consume('a', LIMIT)).toBeGreaterThan(0)
  },
)

test.each(Object.entries(SQLITE_CLIENTS))(
  '%s, in delete mode: reads that wait for a lock keep none, and the feed works',
  async (name, open) => {
    const path = join(directory, `${name.replace('/', '-')}-reads.db`)
    const app = open(path)
    onTestFinished(app.close)
    const { db, revocations, sessions, close } = await openSqlite({ client: app.client }, PATIENT)
    onTestFinished(close)
    const ada = await storeSession(app)
    const failed = vi.fn<() => void>()
    revocations.failures?.follow(failed)
    onTestFinished(revocations.subscribe(ada, () => {}))
    const other = startFixture('lockOutReaders', path)
    onTestFinished(() => other.kill())
    let isDone = false
    const failures = other.nextMessage().finally(() => {
      isDone = true
    })
    while (!isDone) {
      const users = db.selectFrom('user').select('id').execute()
      await Promise.all([users, sessions.findToken(ada.sessionId), sessions.findSession(ada)])
      // Several in one turn share a transaction.
      await Promise.all([sessions.findSession(ada), sessions.findSession(ada)])
      await sleep(10)
    }
    expect(await failures).toBe(0)
    expect(failed).not.toHaveBeenCalled()
  },
)

test.each(Object.entries(SQLITE_CLIENTS))(
  '%s: a write of the app between two turns of the event loop finds no open transaction of a sign-in',
  async (name, open) => {
    const { app, database } = await openNotes(open(join(directory, `${name.replace('/', '-')}-turns.db`)))
    const { userId } = await storeSession(app)
    await writeDuring(app, async () => {
      let replaces: SessionCookie | null = null
      for (let sessions = 0; sessions < 20; sessions++) {
        const { cookie } = await createSession(database, { userId, config, replaces })
        replaces = parseSessionCookie(cookie)
        const replacement = {
          userId,
          cookie: replaces,
          cause: 'password-changed',
          now: config.now(),
        } as const
        expect(
          await commit(database, (trx, record) => replaceCredentials(trx, record, replacement)),
        ).not.toBeNull()
      }
    })
  },
)

test.each(Object.entries(SQLITE_CLIENTS))(
  '%s: such a write finds no open transaction of a sign-in at a provider or a check of a TOTP code',
  async (name, open) => {
    const { app, database } = await openNotes(open(join(directory, `${name.replace('/', '-')}-encrypted.db`)))
    const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
    onTestFinished(auth.close)
    await writeDuring(app, async () => {
      for (let sessions = 0; sessions < 5; sessions++) {
        acme.person = newPerson()
        const browser = openBrowser(auth)
        for (const purpose of ['signInOauth', 'linkAccount'] as const)
          expect((await browser.go(purpose)).page).toBe('/home')
        const { secret } = (await browser.call('enableTotp')).body
        const code = totpCode(secret, { clock: config })
        expect((await browser.call('confirmTotp', { code })).status).toBe('200')
      }
    })
    expect(await app.rows('select count(*) as count from "oauthToken"')).toMatchObject([{ count: 5 }])
  },
)

test.each(Object.entries(SQLITE_CLIENTS))('%s, in delete mode: opens between locks', async (name, open) => {
  const path = join(directory, `${name.replace('/', '-')}-open.db`)
  const first = open(path)
  onTestFinished(first.close)
  await (await openSqlite({ client: first.client })).close()
  const other = startFixture('lockOutReaders', path)
  onTestFinished(() => other.kill())
  let isDone = false
  const ended = other.nextMessage().finally(() => {
    isDone = true
  })
  while (!isDone) {
    const { client, close } = open(path)
    await (await openSqlite({ client }, PATIENT)).close()
    close()
    await sleep(10)
  }
  await ended
})
