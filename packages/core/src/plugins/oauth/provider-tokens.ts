import * as client from 'openid-client'
import { toSessionDatabase } from '../../database/database.ts'
import { toNullableDate } from '../../database/schema/kysely-tables.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import type { EncryptionKeys } from '../../keys/encryption-keys.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import type { LinkedAccount } from './find-user.ts'
import { toRejection } from './prove.ts'
import type { Provider } from './providers.ts'
import { oauthError, type ProviderToken, type ProviderTokenQuery } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** Refreshed this long before it expires, so it lasts for a request. */
const LEEWAY_SECONDS = 60

type Tokens = client.TokenEndpointResponse

/** Stores the tokens of an account, encrypted; without keys, it stores nothing. */
export async function storeTokens(
  account: LinkedAccount,
  {
    tokens,
    provider,
    context: { encryptionKeys, database, config },
  }: {
    tokens: Tokens
    provider: Provider
    context: Pick<EndpointContext, 'encryptionKeys' | 'database' | 'config'>
  },
): Promise<void> {
  if (encryptionKeys === null) return
  const update = await encryptTokens(tokens, { account, provider, encryptionKeys, now: config.now() })
  const row = { refreshToken: null, scope: '', ...update, accountId: account.id }
  await withOwnTables(database.db)
    .insertInto('oauthToken')
    .values(row)
    // Some providers return a refresh token at the first sign-in only.
    .onConflict((conflict) => conflict.column('accountId').doUpdateSet(update))
    .execute()
}

type Owner = { account: LinkedAccount; provider: Provider; encryptionKeys: EncryptionKeys; now: Date }

async function encryptTokens(tokens: Tokens, { account, provider, encryptionKeys, now }: Owner) {
  const owner = ownerOf(account.userId, provider)
  const { access_token, refresh_token, expires_in, scope } = tokens
  const expiry = expires_in === undefined ? null : new Date(now.getTime() + expires_in * 1000)
  return {
    accessToken: await encryptionKeys.encrypt(access_token, owner),
    ...(refresh_token !== undefined && { refreshToken: await encryptionKeys.encrypt(refresh_token, owner) }),
    ...(scope !== undefined && { scope }),
    accessExpiresAt: expiry,
    updatedAt: now,
  }
}

/** A row can't be moved to another user, or to another provider. */
function ownerOf(userId: string, { id }: Provider): readonly string[] {
  return ['oauth', userId, id]
}

/** Creates the function that returns a user's token for the API of a provider, refreshed if necessary. */
export function createTokenReader(
  providers: Readonly<Record<string, Provider>>,
  now: () => Date = () => new Date(),
): (query: ProviderTokenQuery) => Promise<ProviderToken> {
  /** Refresh tokens often work once, so callers of one process share a refresh. */
  const refreshing = new Map<string, Promise<ProviderToken>>()

  return async function getProviderToken(query) {
    const provider = Object.hasOwn(providers, query.provider) ? providers[query.provider] : undefined
    const { encryptionKeys } = query
    if (provider === undefined || encryptionKeys === null) throw oauthError('PROVIDER_TOKEN_MISSING')
    const scope = { provider, encryptionKeys }
    const stored = await readStored(query, scope)
    if (stored.expiresAt === null || stored.expiresAt.getTime() - LEEWAY_SECONDS * 1000 > now().getTime())
      return stored.token()
    const pending = refreshing.get(stored.account.id) ?? refresh(query, stored, scope)
    refreshing.set(stored.account.id, pending)
    try {
      return await pending
    } finally {
      refreshing.delete(stored.account.id)
    }
  }

  async function refresh(
    query: ProviderTokenQuery,
    stored: Stored,
    { provider, encryptionKeys }: Scope,
  ): Promise<ProviderToken> {
    const refreshToken = await stored.refreshToken()
    if (refreshToken === null) throw oauthError('PROVIDER_TOKEN_MISSING')
    const { account } = stored
    const config = await provider.connect()
    try {
      const tokens = await client.refreshTokenGrant(config, refreshToken)
      const update = await encryptTokens(tokens, { account, provider, encryptionKeys, now: now() })
      const rows = withOwnTables(toSessionDatabase(query.database).db).updateTable('oauthToken').set(update)
      await rows.where('accountId', '=', account.id).execute()
    } catch (error) {
      // Another process may have used the refresh token meanwhile.
      const current = await readStored(query, { provider, encryptionKeys })
      if (current.updatedAt <= stored.updatedAt) throw toMissing(toRejection(error))
    }
    return (await readStored(query, { provider, encryptionKeys })).token()
  }
}

/** A provider that rejects a refresh token has revoked it. */
function toMissing(rejection: Error): Error {
  const isRejected = isEndpointError(rejection) && rejection.code === 'SIGN_IN_FAILED'
  return isRejected ? oauthError('PROVIDER_TOKEN_MISSING', { cause: rejection.cause }) : rejection
}

type Scope = { provider: Provider; encryptionKeys: EncryptionKeys }

interface Stored {
  readonly account: LinkedAccount
  readonly expiresAt: Date | null
  readonly updatedAt: Date
  token(): Promise<ProviderToken>
  refreshToken(): Promise<string | null>
}

/** @throws EndpointError `PROVIDER_TOKEN_MISSING` */
async function readStored(
  { userId, database }: ProviderTokenQuery,
  { provider, encryptionKeys }: Scope,
): Promise<Stored> {
  const row = await withOwnTables(toSessionDatabase(database).db)
    .selectFrom('oauthToken')
    .innerJoin('account', 'account.id', 'oauthToken.accountId')
    .select(['account.id', 'accessToken', 'refreshToken', 'scope', 'accessExpiresAt', 'oauthToken.updatedAt'])
    .where('account.userId', '=', userId)
    .where('account.providerId', '=', provider.id)
    .orderBy('oauthToken.updatedAt', 'desc')
    .executeTakeFirst()
  if (row === undefined) throw oauthError('PROVIDER_TOKEN_MISSING')
  const { accessToken, refreshToken, scope } = row
  const owner = ownerOf(userId, provider)
  const expiresAt = toNullableDate(row.accessExpiresAt)
  return {
    account: { id: row.id, userId },
    expiresAt,
    updatedAt: new Date(row.updatedAt),
    token: async () => ({
      accessToken: await encryptionKeys.decrypt(accessToken, owner),
      expiresAt,
      scopes: scope.split(' ').filter((name) => name !== ''),
    }),
    refreshToken: async () => (refreshToken === null ? null : encryptionKeys.decrypt(refreshToken, owner)),
  }
}
