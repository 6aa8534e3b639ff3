import { createAuth } from '@sallyport/core/auth'
import { type PluginTransformQueryArgs, sql } from 'kysely'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { withOwnTables } from '../../../src/plugins/oauth/tables.ts'
import { APP_LINK } from '../../support/every-plugin.ts'
import type { Reply } from '../../support/open-browser.ts'
import { readAudit } from '../../support/read-audit.ts'
import { until } from '../../support/until.ts'
import { ACME, type Browser, createOauthAuth, newPerson, openBrowser } from './browser.ts'
import { CLIENT, startOidcServer } from './oidc-server.ts'

const acme = await startOidcServer()
const { auth, open, emails } = await createOauthAuth({
  providers: { acme: { ...CLIENT, issuer: acme.issuer } },
  redirects: [APP_LINK],
})

/** A change in another browser while the tokens of a sign-in are stored. It waits for that transaction. */
let meanwhile: (() => Promise<unknown>) | null = null
const storesTokens = ({ node }: PluginTransformQueryArgs) =>
  node.kind === 'InsertQueryNode' && node.into?.table.identifier.name === 'oauthToken'
const storing = new WeakSet<object>()
const interrupted = await createAuth(
  auth.definition,
  {
    ...auth.database,
    db: auth.database.db.withPlugin({
      transformQuery(query) {
        if (storesTokens(query)) storing.add(query.queryId)
        return query.node
      },
      async transformResult({ queryId, result }) {
        const happening = storing.has(queryId) ? meanwhile : null
        if (happening === null) return result
        meanwhile = null
        const begin = vi.spyOn(auth.database.db, 'transaction')
        void happening()
        await until(() => begin.mock.calls.length > 0)
        begin.mockRestore()
        return result
      },
    }),
  },
  { pruneEverySeconds: 0 },
)

let user: { userId: string; email: string }
let browser: Browser
beforeEach(async () => {
  acme.person = newPerson()
  user = await auth.createUser()
  await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', user.userId).execute()
  browser = open()
  await browser.signIn(user.email)
})

const providersOf = async (from = browser) =>
  (await from.call('listAccounts')).body.accounts.map(({ provider }: { provider: string }) => provider)
const idOf = async (name: string, from = browser) =>
  (await from.call('listAccounts')).body.accounts.find(
    ({ provider }: { provider: string }) => provider === name,
  ).id

describe('linking a provider', () => {
  test('adds a way to sign in, replaces the credentials, and sends an email', async () => {
    const copy = open()
    copy.cookie = browser.cookie
    expect((await browser.go('linkAccount')).page).toBe('/home')
    expect((await providersOf()).sort()).toEqual(['acme', 'credential'])
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
    const audit = await readAudit(auth, user.userId)
    expect(audit).toContainEqual(expect.objectContaining({ type: 'oauth:account-linked', provider: 'acme' }))
    const notice = { kind: 'account-linked', to: user.email, provider: 'acme' }
    await expect.poll(() => emails).toContainEqual(expect.objectContaining(notice))
    const laptop = open()
    await laptop.go('signInOauth')
    expect((await laptop.call('getSession')).body.user.id).toBe(user.userId)
  })

  test("changes nothing if the provider's tokens can't be stored", async () => {
    const fails = sql`create trigger fails before insert on "oauthToken" begin select raise(abort, 'full'); end`
    await fails.execute(auth.db)
    expect((await browser.go('linkAccount')).page).toBe('/sign-in?error=INTERNAL_ERROR')
    await sql`drop trigger fails`.execute(auth.db)
    expect(await providersOf()).toEqual(['credential'])
    expect((await browser.call('token')).status).toBe('200')
    expect((await browser.go('linkAccount')).page).toBe('/home')
  })

  test('works after the JWT has expired at the provider', async () => {
    const { body } = await browser.call('linkAccount', ACME)
    const url = await browser.visit(body.url)
    browser.cookie = browser.cookie.replace(/service\.jwt=[^;]*; /, '')
    expect((await browser.open(url)).page).toBe('/home')
  })

  test('needs a recent sign-in', async () => {
    auth.clock.advance(14 * 60)
    await browser.call('token')
    auth.clock.advance(120)
    expect((await browser.call('linkAccount', ACME)).status).toBe('403 SESSION_NOT_FRESH')
  })

  test.each([
    ['signed out', () => auth.api.signOut({ request: requestOf(browser) }), 'SESSION_NOT_FOUND'],
    [
      'been banned',
      () => auth.db.updateTable('user').set({ banned: true }).where('id', '=', user.userId).execute(),
      'ACCOUNT_BANNED',
    ],
    ['replaced its credentials', () => replaceElsewhere(), 'TOKEN_INVALID'],
  ])('is rejected if the user has %s meanwhile', async (_name, change, code) => {
    const { body } = await browser.call('linkAccount', ACME)
    const url = await browser.visit(body.url)
    await change()
    expect((await browser.open(url)).page).toBe(`/sign-in?error=${code}`)
    const rows = auth.db.selectFrom('account').select('id').where('userId', '=', user.userId)
    expect(await rows.execute()).toHaveLength(1)
  })

  test.each([
    ['works', [], '/home'],
    ['is rejected if they were replaced too', ['revokeCopies'], '/sign-in?error=TOKEN_INVALID'],
  ] as const)(
    '%s after a refresh in another tab has rotated the credentials',
    async (_name, changes, page) => {
      const rotating = await createOauthAuth(
        { providers: { acme: { ...CLIENT, issuer: acme.issuer } } },
        { session: { rotateSessionToken: true } },
      )
      const { userId, email } = await rotating.auth.createUser()
      await rotating.auth.db
        .updateTable('user')
        .set({ emailVerified: true })
        .where('id', '=', userId)
        .execute()
      const other = rotating.open()
      await other.signIn(email)
      const url = await other.visit((await other.call('linkAccount', ACME)).body.url)
      for (const name of changes) expect((await other.call(name)).status).toBe('200')
      for (let count = 0; count < 2; count++) {
        rotating.auth.clock.advance(40)
        expect((await other.call('token')).status).toBe('200')
      }
      rotating.auth.clock.advance(40)
      expect((await other.open(url)).page).toBe(page)
    },
  )

  const requestOf = ({ cookie }: Browser) =>
    new Request('http://localhost:3000', { method: 'POST', headers: { cookie, 'x-sallyport': '1' } })

  async function replaceElsewhere(): Promise<void> {
    const tab = open()
    tab.cookie = browser.cookie.replace(/; service\.oauth=[^;]*|service\.oauth=[^;]*; /, '')
    expect((await tab.call('revokeCopies')).status).toBe('200')
  }

  test('needs the session cookie, not only a JWT', async () => {
    browser.cookie = browser.cookie.replace(/; service\.session=[^;]*/, '')
    expect((await browser.call('linkAccount', ACME)).status).toBe('400 SESSION_SECRET_REQUIRED')
  })
})

describe('unlinking a provider', () => {
  test('removes it, ends the other sessions, and sends an email', async () => {
    await browser.go('linkAccount')
    const laptop = open()
    await laptop.go('signInOauth')
    const accountId = await idOf('acme')
    expect((await browser.call('unlinkAccount', { accountId })).status).toBe('200')
    expect(await providersOf()).toEqual(['credential'])
    expect((await laptop.call('getSession')).status).toBe('401 SESSION_NOT_FOUND')
    expect(await readAudit(auth, user.userId)).toContainEqual(
      expect.objectContaining({ type: 'oauth:account-unlinked', provider: 'acme' }),
    )
    const notice = { kind: 'account-unlinked', to: user.email, provider: 'acme' }
    await expect.poll(() => emails).toContainEqual(expect.objectContaining(notice))
  })

  test('replaces the credentials of the session', async () => {
    await browser.go('linkAccount')
    const { id: sessionId } = (await browser.call('getSession')).body.session
    const copy = open()
    copy.cookie = browser.cookie
    expect((await browser.call('unlinkAccount', { accountId: await idOf('acme') })).status).toBe('200')
    expect((await copy.call('getSession')).status).toBe('401 TOKEN_INVALID')
    expect((await browser.call('getSession')).status).toBe('200')
    const change = { type: 'session.version-changed', sessionId, cause: 'factor-removed', version: 3 }
    expect((await readAudit(auth, user.userId)).at(-1)).toMatchObject(change)
  })

  test('keeps the other sessions if it is to', async () => {
    await browser.go('linkAccount')
    const laptop = open()
    await laptop.go('signInOauth')
    const unlinked = { accountId: await idOf('acme'), revokeOtherSessions: false }
    expect((await browser.call('unlinkAccount', unlinked)).status).toBe('200')
    expect((await laptop.call('getSession')).status).toBe('200')
  })

  test.each([
    ['a browser', ACME],
    ['an app', { ...ACME, redirectTo: APP_LINK, codeChallenge: 'A'.repeat(43) }],
  ])('ends a sign-in of %s that is under way', async (_who, input) => {
    await browser.go('linkAccount')
    const accountId = await idOf('acme')
    let unlinking: Promise<Reply> | undefined
    meanwhile = () => (unlinking = browser.call('unlinkAccount', { accountId }))
    const { page } = await openBrowser(interrupted).go('signInOauth', input)
    expect([page, (await unlinking)?.status]).toEqual(['/sign-in?error=SIGN_IN_EXPIRED', '200'])
    const tokens = withOwnTables(auth.db).selectFrom('oauthToken').where('accountId', '=', accountId)
    expect(await tokens.selectAll().execute()).toEqual([])
  })

  test('is rejected for the last way to sign in', async () => {
    const other = open()
    await other.go('signInOauth')
    const accountId = await idOf('acme', other)
    expect((await other.call('unlinkAccount', { accountId })).status).toBe('409 LAST_WAY_IN')
    expect(await providersOf(other)).toEqual(['acme'])
  })

  test('is rejected if all that is left is a password that was removed', async () => {
    await browser.go('linkAccount')
    const passwords = auth.db.updateTable('account').set({ password: null })
    await passwords.where('userId', '=', user.userId).where('providerId', '=', 'credential').execute()
    const accountId = await idOf('acme')
    expect((await browser.call('unlinkAccount', { accountId })).status).toBe('409 LAST_WAY_IN')
  })

  test('is rejected for the account of another user, and for the password', async () => {
    const other = open()
    await other.go('signInOauth')
    const [foreign, own] = [await idOf('acme', other), await idOf('credential')]
    for (const accountId of [foreign, own])
      expect((await browser.call('unlinkAccount', { accountId })).status).toBe('404 ACCOUNT_NOT_FOUND')
  })

  test('ends a sign-in that still needs a second factor', async () => {
    await browser.go('linkAccount')
    const expiresAt = new Date(auth.clock.now().getTime() + 600_000)
    const row = { userId: user.userId, amr: '[]', acr: null, remembered: true, attempts: 0, expiresAt }
    const challenge = { id: crypto.randomUUID(), ...row }
    await auth.db.insertInto('sallyport.challenge').values(challenge).execute()
    await browser.call('unlinkAccount', { accountId: await idOf('acme') })
    const open = auth.db.selectFrom('sallyport.challenge').select('id').where('userId', '=', user.userId)
    expect(await open.execute()).toEqual([])
  })

  test('keeps the provider out, whose email would link it again, until the user links it', async () => {
    const person = { ...newPerson(), email: user.email }
    acme.person = person
    await browser.go('signInOauth')
    await browser.signIn(user.email)
    await browser.call('unlinkAccount', { accountId: await idOf('acme') })
    for (const sub of [crypto.randomUUID(), person.sub]) {
      acme.person = { ...person, sub }
      expect((await open().go('signInOauth')).page).toBe('/sign-in?error=ACCOUNT_EXISTS')
      expect(await providersOf()).toEqual(['credential'])
    }
    expect((await browser.go('linkAccount')).page).toBe('/home')
    const rows = withOwnTables(auth.db).selectFrom('oauthUnlinked').where('userId', '=', user.userId)
    expect(await rows.select('provider').execute()).toEqual([])
    expect((await open().go('signInOauth')).page).toBe('/home')
  })

  test('lets the person in at the provider begin a new account only', async () => {
    await browser.go('linkAccount')
    await browser.call('unlinkAccount', { accountId: await idOf('acme') })
    const laptop = open()
    await laptop.go('signInOauth')
    expect((await laptop.call('getSession')).body.user.id).not.toBe(user.userId)
  })
})
