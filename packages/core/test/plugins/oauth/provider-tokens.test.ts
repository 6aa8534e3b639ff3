import { createAuth, defineAuth } from '@sallyport/core/auth'
import { oauth } from '@sallyport/core/plugins/oauth'
import { createTestAuth } from '@sallyport/core/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Browser, createOauthAuth, newPerson, openBrowser } from './browser.ts'
import { startLocalProvider } from './local-provider.ts'
import { CLIENT } from './oidc-server.ts'

const acme = await startLocalProvider()
const provider = { ...CLIENT, issuer: acme.issuer }
const { auth, open, plugin } = await createOauthAuth({ providers: { acme: provider, other: provider } })
type Rows = {
  oauthToken: {
    accountId: string
    accessToken: string
    refreshToken: string | null
    accessExpiresAt: Date | null
  }
}
const rows = auth.db.$extendTables<Rows>()

let browser: Browser
let userId: string
let sent: Record<string, unknown>
beforeEach(async () => {
  acme.person = newPerson()
  acme.tokenStatus = 200
  acme.cutsTokens = false
  acme.challenges = false
  acme.alterTokens = (tokens) => {
    sent = tokens
    return tokens
  }
  browser = open()
  await browser.go('signInOauth')
  userId = (await browser.call('getSession')).body.user.id
})

const query = () => ({
  userId,
  provider: 'acme',
  database: auth.database,
  encryptionKeys: auth.definition.encryptionKeys,
})
const read = () => plugin.getProviderToken(query())
const expire = async () => {
  const accounts = auth.db.selectFrom('account').select('id').where('userId', '=', userId)
  const expired = rows.updateTable('oauthToken').set({ accessExpiresAt: new Date(Date.now() + 59_000) })
  await expired.where('accountId', 'in', accounts).execute()
}

describe('the token of a provider', () => {
  test('is returned to the server, and encrypted in the database', async () => {
    expect(await read()).toEqual({
      accessToken: sent.access_token,
      expiresAt: expect.any(Date),
      scopes: [],
    })
    const stored = JSON.stringify(await rows.selectFrom('oauthToken').selectAll().execute())
    for (const name of ['access_token', 'refresh_token']) expect(stored).not.toContain(sent[name])
  })

  test.each(['read:user,user:email', 'read:user user:email'])('has the scopes of %j', async (scope) => {
    acme.alterTokens = (tokens) => ({ ...tokens, scope })
    await browser.go('signInOauth')
    expect((await read()).scopes).toEqual(['read:user', 'user:email'])
  })

  test('can be decrypted for its user and provider only', async () => {
    const { account } = { account: auth.db.selectFrom('account').select('id').where('userId', '=', userId) }
    const row = await rows
      .selectFrom('oauthToken')
      .selectAll()
      .where('accountId', 'in', account)
      .executeTakeFirstOrThrow()
    const decrypt = (...owner: string[]) => auth.definition.encryptionKeys?.decrypt(row.accessToken, owner)
    expect(await decrypt('oauth', userId, 'acme')).toBe(sent.access_token)
    await expect(decrypt('oauth', userId, 'other')).rejects.toThrow()
    await expect(decrypt('oauth', crypto.randomUUID(), 'acme')).rejects.toThrow()
  })

  test('is refreshed within its last minute, once for all callers', async () => {
    const first = sent.access_token
    await expire()
    const before = acme.tokenRequests.length
    const tokens = await Promise.all([read(), read(), read()])
    expect(acme.tokenRequests.length - before).toBe(1)
    for (const token of tokens)
      expect(token).toMatchObject({ accessToken: sent.access_token, scopes: ['api'] })
    expect(sent.access_token).not.toBe(first)
  })

  test('is refreshed once for two processes', async () => {
    const other = oauth({ providers: { acme: provider } })
    await expire()
    const before = acme.tokenRequests.length
    const tokens = await Promise.all([read(), other.getProviderToken(query())])
    expect(acme.tokenRequests.length - before).toBe(1)
    for (const token of tokens) expect(token.accessToken).toBe(sent.access_token)
  })

  test('is refreshed again with the refresh token that the last refresh returned', async () => {
    for (let count = 0; count < 2; count++) {
      await expire()
      expect((await read()).accessToken).toBe(sent.access_token)
    }
  })

  test('is missing if the provider has revoked it, and unavailable while the provider is down', async () => {
    await expire()
    acme.tokenStatus = 500
    await expect(read()).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' })
    acme.tokenStatus = 200
    acme.refreshTokens.clear()
    await expect(read()).rejects.toMatchObject({ code: 'PROVIDER_TOKEN_MISSING' })
  })

  test('is missing if the provider has revoked it, and says so in a header too', async () => {
    await expire()
    acme.challenges = true
    acme.refreshTokens.clear()
    await expect(read()).rejects.toMatchObject({ code: 'PROVIDER_TOKEN_MISSING' })
  })

  test.each([
    ['is cut', { cutsTokens: true }],
    ['has no token', { alterTokens: () => ({}) }],
  ])('is unavailable, not missing, if the response %s', async (_name, changes) => {
    await expire()
    Object.assign(acme, changes)
    await expect(read()).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' })
  })

  test("is unavailable, not missing, while the provider rejects the app's secret", async () => {
    await expire()
    acme.alterTokens = () => ({ error: 'incorrect_client_credentials' })
    await expect(read()).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' })
  })

  test('is the one of another process, if that has used the refresh token meanwhile', async () => {
    await expire()
    acme.refreshTokens.clear()
    const { encryptionKeys: keys } = auth.definition
    if (keys === null) throw new TypeError('A test auth has keys')
    const accessToken = await keys.encrypt('newer', ['oauth', userId, 'acme'])
    const updatedAt = new Date(auth.clock.now().getTime() + 60_000)
    const accounts = auth.db.selectFrom('account').select('id').where('userId', '=', userId)
    const newer = auth.db
      .$extendTables<{ oauthToken: { accountId: string; accessToken: string; updatedAt: Date } }>()
      .updateTable('oauthToken')
      .set({ accessToken, updatedAt })
      .where('accountId', 'in', accounts)
    const encryptionKeys: typeof keys = {
      ...keys,
      // The refresh has read the row, and not sent the token yet.
      async decrypt(...secret) {
        await newer.execute()
        return keys.decrypt(...secret)
      },
    }
    const reading = plugin.getProviderToken({ ...query(), encryptionKeys })
    expect((await reading).accessToken).toBe('newer')
  })

  test('is the one of a sign-in, if that has ended during a refresh', async () => {
    await expire()
    const { encryptionKeys: keys } = auth.definition
    if (keys === null) throw new TypeError('A test auth has keys')
    let signIn: (() => Promise<unknown>) | null = () => browser.go('signInOauth')
    const encryptionKeys: typeof keys = {
      ...keys,
      // The refresh has its tokens by now.
      async encrypt(...secret) {
        const pending = signIn?.()
        signIn = null
        await pending
        return keys.encrypt(...secret)
      },
    }
    const { accessToken } = await plugin.getProviderToken({ ...query(), encryptionKeys })
    expect(accessToken).toBe(sent.access_token)
    await expire()
    expect((await read()).accessToken).toBe(sent.access_token)
  })

  test('is missing for another user and another provider', async () => {
    for (const change of [{ userId: 'nobody' }, { provider: 'other' }, { provider: 'constructor' }])
      await expect(plugin.getProviderToken({ ...query(), ...change })).rejects.toMatchObject({
        code: 'PROVIDER_TOKEN_MISSING',
      })
  })

  test('keeps the refresh token if a later sign-in returns none', async () => {
    acme.alterTokens = ({ refresh_token: _none, ...tokens }) => tokens
    await open().go('signInOauth')
    await expire()
    expect((await read()).accessToken).toEqual(expect.any(String))
  })
})

test('without encryption keys, no token is stored', async () => {
  const test = await createTestAuth()
  const { config, signingKeys } = test.definition
  const definition = defineAuth({ config, signingKeys, plugins: [oauth({ providers: { acme: provider } })] })
  const keyless = await createAuth(definition, test.database, { pruneEverySeconds: 0 })
  const other = openBrowser(keyless)
  expect((await other.go('signInOauth')).page).toBe('/home')
  expect(await test.db.$extendTables<Rows>().selectFrom('oauthToken').selectAll().execute()).toEqual([])
  await test.close()
})
