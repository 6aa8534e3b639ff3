import { type AuthTransaction, createAuth, defineAuth } from '@sallyport/core/auth'
import { oauth } from '@sallyport/core/plugins/oauth'
import { openPostgres } from '@sallyport/core/postgres'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { createIssuer } from '../../support/create-issuer.ts'
import { PATIENT, PATIENT_SESSION, testPostgres } from '../../support/postgres.ts'
import { ACME, type Browser, type Landing, newPerson, openBrowser } from './browser.ts'
import { startLocalProvider } from './local-provider.ts'
import { CLIENT } from './oidc-server.ts'

const [acme, other] = await Promise.all([startLocalProvider(), startLocalProvider()])
const opened = await openPostgres(await (await testPostgres()).createDatabase('app'), PATIENT)
afterAll(opened.close)
const { config, signingKeys } = await createIssuer({ session: PATIENT_SESSION })
const plugin = oauth({
  providers: {
    acme: { ...CLIENT, issuer: acme.issuer },
    other: { ...CLIENT, issuer: other.issuer },
    posting: { ...CLIENT, issuer: acme.issuer, responseMode: 'form_post' },
  },
})
const definition = defineAuth({
  config,
  signingKeys,
  encryptionKeys: Buffer.alloc(32, 7).toString('base64'),
  plugins: [plugin],
})
const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
const atOther = { ...ACME, provider: 'other' }

test('PostgreSQL has a whole life of an account', async () => {
  acme.person = newPerson()
  other.person = newPerson()
  const browser = openBrowser(auth)
  expect((await browser.go('signInOauth')).page).toBe('/home')
  expect((await browser.go('linkAccount', atOther)).page).toBe('/home')
  const { accounts } = (await browser.call('listAccounts')).body
  expect(accounts.map(({ provider }: { provider: string }) => provider)).toEqual(['acme', 'other'])
  const userId = (await browser.call('getSession')).body.user.id
  const { encryptionKeys } = definition
  const query = { userId, provider: 'acme', database: auth.database, encryptionKeys }
  expect((await plugin.getProviderToken(query)).accessToken).toEqual(expect.any(String))
  expect((await browser.call('unlinkAccount', { accountId: accounts[0].id })).status).toBe('200')
  expect((await browser.call('unlinkAccount', { accountId: accounts[1].id })).status).toBe('409 LAST_WAY_IN')
  await expect(plugin.getProviderToken(query)).rejects.toMatchObject({ code: 'PROVIDER_TOKEN_MISSING' })
})

test('a posted name that PostgreSQL cannot store is ignored', async () => {
  const browser = openBrowser(auth)
  const { url } = (await browser.call('signInOauth', { ...ACME, provider: 'posting' })).body
  const state = new URL(url).searchParams.get('state') ?? ''
  const user = JSON.stringify({ name: { firstName: 'Ada\0', lastName: 'Lovelace' } })
  const callback = 'http://localhost:3000/api/auth/callback/posting'
  const init = { method: 'POST', headers: { cookie: browser.cookie } }
  const body = new URLSearchParams({ state, code: 'code', user })
  const response = await auth.handler(new Request(callback, { ...init, body }))
  expect(response.headers.get('location')).toContain(`${callback}/continue?`)
})

test('of several callbacks with one state, one begins a session', async () => {
  acme.person = newPerson()
  const browser = openBrowser(auth)
  const url = await browser.visit((await browser.call('signInOauth', ACME)).body.url)
  const landings = await Promise.all(Array.from({ length: 5 }, () => browser.open(url)))
  expect(landings.filter(({ page }) => page === '/home')).toHaveLength(1)
})

test('of two browsers that link one account to two users, one succeeds', async () => {
  const people = [newPerson(), newPerson()]
  const urls: string[] = []
  const browsers = [openBrowser(auth), openBrowser(auth)]
  other.person = newPerson()
  for (const [index, browser] of browsers.entries()) {
    acme.person = people[index] ?? newPerson()
    await browser.go('signInOauth')
    urls.push(await browser.visit((await browser.call('linkAccount', atOther)).body.url))
  }
  const landings = await Promise.all(browsers.map((browser, index) => browser.open(urls[index] ?? '')))
  const pages = landings.map(({ page }) => page).sort()
  expect(pages).toEqual(['/home', '/sign-in?error=ACCOUNT_TAKEN'])
})

describe('two first sign-ins of one person at once', () => {
  const { db } = opened

  /** Lets both callbacks wait for what `lock` has locked, and returns their pages. */
  async function signInTwice(lock: (trx: AuthTransaction) => Promise<unknown>): Promise<string[]> {
    const begun: Promise<Landing>[] = []
    const visits: [Browser, string][] = []
    for (const browser of [openBrowser(auth), openBrowser(auth)])
      visits.push([browser, await browser.visit((await browser.call('signInOauth', ACME)).body.url)])
    await db.transaction().execute(async (trx) => {
      await lock(trx)
      for (const [browser, url] of visits) begun.push(browser.open(url))
      const waiting = sql`select 1 from pg_locks where not granted`
      while ((await waiting.execute(trx)).rows.length < visits.length);
    })
    return (await Promise.all(begun)).map(({ page }) => page)
  }

  const usersOf = (email: string) => db.selectFrom('user').select('id').where('email', '=', email).execute()

  test('create one user, and both succeed', async () => {
    const person = newPerson()
    acme.person = person
    const pages = await signInTwice((trx) => sql`lock table "user" in exclusive mode`.execute(trx))
    expect(pages).toEqual(['/home', '/home'])
    const [user, ...others] = await usersOf(person.email)
    expect(others).toEqual([])
    // They are encrypted for the user of the first one.
    const query = { userId: user?.id ?? '', provider: 'acme', database: auth.database }
    const token = await plugin.getProviderToken({ ...query, encryptionKeys: definition.encryptionKeys })
    expect(token.accessToken).toEqual(expect.any(String))
  })

  test('link one account to the user with the email, and both succeed', async () => {
    const person = newPerson()
    acme.person = person
    other.person = person
    await openBrowser(auth).go('signInOauth', atOther)
    const pages = await signInTwice((trx) =>
      trx.selectFrom('user').select('id').where('email', '=', person.email).forNoKeyUpdate().execute(),
    )
    expect(pages).toEqual(['/home', '/home'])
    const [user] = await usersOf(person.email)
    const accounts = db
      .selectFrom('account')
      .select('providerId')
      .where('userId', '=', user?.id ?? '')
    expect((await accounts.execute()).map(({ providerId }) => providerId).sort()).toEqual(['acme', 'other'])
  })
})
