import { createAuth } from '@sallyport/core/auth'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { type KyselyPlugin, sql } from 'kysely'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { startEveryPlugin } from '../support/every-plugin.ts'
import { EMAIL_CODE_COOKIE, insertEmailCode } from '../support/insert-email-code.ts'
import { insertLink } from '../support/insert-link.ts'
import { insertPasskey } from '../support/insert-passkey.ts'
import { insertTotp } from '../support/insert-totp.ts'
import { openBrowser } from '../support/open-browser.ts'

const auth = await createTestAuth({ plugins: await startEveryPlugin() })
afterAll(() => auth.close())
// With thousands of sessions, changing one after another would take longer than a change may.
const single = sql`create trigger single before update of "amr" on "session"
  begin select raise(abort, 'A session was changed'); end`
await single.execute(auth.db)

/** Of an attacker who has signed up with the address of someone else, and signs in again and again. */
let user: { userId: string; email: string }
let session: TestSession
beforeEach(async () => {
  user = await auth.createUser()
  session = await auth.signIn(user)
  await insertPasskey(auth, user.userId)
})

const expectEnded = async () => {
  const left = auth.db.selectFrom('session').select('id').where('userId', '=', user.userId)
  expect(await left.execute()).toEqual([])
}

test('a reset ends the sessions of an unverified account, however many there are', async () => {
  const token = await insertLink(auth, { ...user, kind: 'reset-password' })
  const input = { token, newPassword: 'another rare password' }
  expect((await openBrowser(auth).call('resetPassword', input)).status).toBe('200')
  await expectEnded()
})

test('so does the first sign-in by a code', async () => {
  const owner = openBrowser(auth)
  owner.cookie = EMAIL_CODE_COOKIE
  const { code } = await insertEmailCode(auth, user.email)
  expect((await owner.call('signInEmailCode', { code })).status).toBe('200')
  const listed = (await owner.call('listSessions')).body.sessions
  expect(listed).not.toContainEqual(expect.objectContaining({ id: session.sessionId }))
  expect(listed).toHaveLength(1)
})

test('so does an admin who resets the factors', async () => {
  await insertTotp(auth, [user.userId])
  const root = openBrowser(auth)
  root.cookie = (await auth.signIn({ role: 'admin' })).cookie
  const input = { userId: user.userId, reason: 'Lost phone' }
  expect((await root.call('resetUserFactors', input)).status).toBe('200')
  await expectEnded()
})

test('a removed factor changes only the sessions that have proved it', async () => {
  const { code } = await insertTotp(auth, [user.userId])
  const browser = openBrowser(auth)
  browser.cookie = session.cookie
  const input = { code, revokeOtherSessions: false }
  expect((await browser.call('disableTotp', input)).status).toBe('200')
  expect((await browser.call('getTotp')).body.enabledAt).toBeNull()
})

test('a revocation takes as many statements for many sessions as for a few', async () => {
  let statements = 0
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      statements++
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const database = { ...auth.database, db: auth.database.db.withPlugin(counter) }
  const server = await createAuth(auth.definition, database, { pruneEverySeconds: 0 })
  const browser = openBrowser(server)
  browser.cookie = session.cookie
  const counts: number[] = []
  for (const count of [3, 30]) {
    for (let added = 0; added < count; added++) await auth.signIn(user)
    statements = 0
    expect((await browser.call('revokeOtherSessions')).body).toEqual({ revoked: count })
    counts.push(statements)
  }
  expect(counts[1]).toBe(counts[0])
})
