import type { TokenEndpointResponse } from 'openid-client'
import { type AnyDatabase, toSessionDatabase } from '../../database/database.ts'
import { type AuthKysely, toNullableDate } from '../../database/schema/kysely-tables.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import type { EncryptionKeys } from '../../keys/encryption-keys.ts'
import { oauthError } from './errors.ts'
import type { LinkedAccount } from './find-user.ts'
import type { Provider } from './providers.ts'
import { withOwnTables } from './tables.ts'

/** Whose tokens they are, and where they are stored. */
export interface TokenOwner {
  readonly userId: string
  readonly provider: Provider
  readonly encryptionKeys: EncryptionKeys
  readonly database: AnyDatabase
}

/** The encrypted tokens of an account. */
export interface StoredTokens {
  /** The row in `account`. */
  readonly accountId: string
  readonly scope: string
  readonly expiresAt: Date | null
  readonly updatedAt: Date
  readonly encryptedAccessToken: string
  /** Decrypts it. */
  accessToken(): Promise<string>
  refreshToken(): Promise<string | null>
}

interface Storing {
  readonly provider: Provider
  readonly context: EndpointContext
  /** Returns the user that will probably own the account. */
  readonly findUserId: () => Promise<string>
}

/**
 * Encrypts the tokens of an account. Call it before a transaction: encryption ends the turn of the event
 * loop, and a write by the app's SQLite client would then block the process until it times out.
 * @returns a function that stores the tokens in a transaction; without keys, it does nothing
 */
export async function encryptTokensOf(
  tokens: TokenEndpointResponse,
  { provider, context, findUserId }: Storing,
): Promise<(account: LinkedAccount, db: AuthKysely) => Promise<void>> {
  const { encryptionKeys, config } = context
  if (encryptionKeys === null) return async () => {}
  const now = config.now()
  const encryptFor = (userId: string) => encryptTokens(tokens, { userId, provider, encryptionKeys }, now)
  const expectedId = await findUserId()
  const expected = await encryptFor(expectedId)
  return async ({ id: accountId, userId }, db) => {
    // Another sign-in may have given the account to another user meanwhile.
    const update = userId === expectedId ? expected : await encryptFor(userId)
    await withOwnTables(db)
      .insertInto('oauthToken')
      .values({ refreshToken: null, scope: '', ...update, accountId })
      // Some providers return a refresh token at the first sign-in only.
      .onConflict((conflict) => conflict.column('accountId').doUpdateSet(update))
      .execute()
  }
}

/** Replaces the tokens of an account after a refresh, unless a sign-in has stored others meanwhile. */
export async function replaceTokens(
  { accountId, encryptedAccessToken }: StoredTokens,
  tokens: TokenEndpointResponse,
  owner: TokenOwner,
): Promise<void> {
  const update = await encryptTokens(tokens, owner, new Date())
  const rows = withOwnTables(toSessionDatabase(owner.database).db).updateTable('oauthToken').set(update)
  const refreshed = rows.where('accountId', '=', accountId)
  await refreshed.where('accessToken', '=', encryptedAccessToken).execute()
}

/** @throws EndpointError `PROVIDER_TOKEN_MISSING` */
export async function readTokens(owner: TokenOwner): Promise<StoredTokens> {
  const { userId, provider, encryptionKeys, database } = owner
  const row = await withOwnTables(toSessionDatabase(database).db)
    .selectFrom('oauthToken')
    .innerJoin('account', 'account.id', 'oauthToken.accountId')
    .selectAll('oauthToken')
    .where('account.userId', '=', userId)
    .where('account.providerId', '=', provider.id)
    .orderBy('oauthToken.updatedAt', 'desc')
    .executeTakeFirst()
  if (row === undefined) throw oauthError('PROVIDER_TOKEN_MISSING')
  const { accountId, accessToken, refreshToken, scope } = row
  const decrypt = (text: string) => encryptionKeys.decrypt(text, additionalData(owner))
  return {
    accountId,
    scope,
    expiresAt: toNullableDate(row.accessExpiresAt),
    updatedAt: new Date(row.updatedAt),
    encryptedAccessToken: accessToken,
    accessToken: () => decrypt(accessToken),
    refreshToken: async () => (refreshToken === null ? null : decrypt(refreshToken)),
  }
}

async function encryptTokens(
  { access_token, refresh_token, expires_in, scope }: TokenEndpointResponse,
  owner: Omit<TokenOwner, 'database'>,
  now: Date,
) {
  const encrypt = (text: string) => owner.encryptionKeys.encrypt(text, additionalData(owner))
  return {
    accessToken: await encrypt(access_token),
    ...(refresh_token !== undefined && { refreshToken: await encrypt(refresh_token) }),
    ...(scope !== undefined && { scope }),
    accessExpiresAt: expires_in === undefined ? null : new Date(now.getTime() + expires_in * 1000),
    updatedAt: now,
  }
}

/** A row can't be moved to another user, or to another provider. */
function additionalData({ userId, provider }: Pick<TokenOwner, 'userId' | 'provider'>): readonly string[] {
  return ['oauth', userId, provider.id]
}
