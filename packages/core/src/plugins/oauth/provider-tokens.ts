import { setTimeout as sleep } from 'node:timers/promises'
import { refreshTokenGrant } from 'openid-client'
import { type AnyDatabase, toSessionDatabase } from '../../database/database.ts'
import { Fault } from '../../events/failure-code.ts'
import type { EncryptionKeys } from '../../keys/encryption-keys.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import { oauthError } from './errors.ts'
import { toRejection } from './prove.ts'
import type { Provider } from './providers.ts'
import { readTokens, replaceTokens, type StoredTokens, type TokenOwner } from './stored-tokens.ts'

/** Refreshed this long before it expires, so it lasts for a request. */
const LEEWAY_SECONDS = 60

/**
 * Processes take turns to refresh the tokens of an account: a provider can take the second use of a refresh
 * token for a theft, and revoke all. A turn ends after its requests have timed out.
 */
const ONE_AT_A_TIME: RateLimit = { points: 1, duration: 30 }
const POLL_MS = 100

/** Whose token, and where it is stored. */
export interface ProviderTokenQuery {
  readonly userId: string
  readonly provider: string
  readonly database: AnyDatabase
  /** The `encryptionKeys` of the definition. */
  readonly encryptionKeys: EncryptionKeys | null
}

/** An access token for the API of a provider. */
export interface ProviderToken {
  readonly accessToken: string
  /** Null if the provider doesn't say. */
  readonly expiresAt: Date | null
  /** As granted; empty if the provider doesn't say. */
  readonly scopes: readonly string[]
}

/** Creates the function that returns a user's token for the API of a provider, refreshed if necessary. */
export function createTokenReader(
  providers: Readonly<Record<string, Provider>>,
): (query: ProviderTokenQuery) => Promise<ProviderToken> {
  /** The callers of one process share a read and its refresh. */
  const reading = new Map<string, Promise<ProviderToken>>()

  return async function getProviderToken({ encryptionKeys, userId, database, ...query }) {
    const provider = Object.hasOwn(providers, query.provider) ? providers[query.provider] : undefined
    if (provider === undefined || encryptionKeys === null) throw oauthError('PROVIDER_TOKEN_MISSING')
    const key = JSON.stringify([userId, provider.id])
    const owner = { userId, provider, encryptionKeys, database }
    const pending = reading.get(key) ?? readFresh(owner).finally(() => reading.delete(key))
    reading.set(key, pending)
    return pending
  }
}

async function readFresh(owner: TokenOwner): Promise<ProviderToken> {
  const stored = await readTokens(owner)
  const lastsUntil = stored.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
  if (lastsUntil - LEEWAY_SECONDS * 1000 > Date.now()) return toToken(stored)
  const { limits } = toSessionDatabase(owner.database)
  const turn = `oauth:refresh:${stored.accountId}`
  while ((await limits.consume(turn, ONE_AT_A_TIME)) !== null) await sleep(POLL_MS)
  try {
    const current = await readTokens(owner)
    if (current.updatedAt <= stored.updatedAt) await refresh(current, owner)
  } finally {
    await limits.giveBack?.(turn, ONE_AT_A_TIME)
  }
  return toToken(await readTokens(owner))
}

async function refresh(stored: StoredTokens, owner: TokenOwner): Promise<void> {
  const refreshToken = await stored.refreshToken()
  if (refreshToken === null) throw oauthError('PROVIDER_TOKEN_MISSING')
  const config = await owner.provider.connect()
  try {
    await replaceTokens(stored, await refreshTokenGrant(config, refreshToken), owner)
  } catch (error) {
    // A sign-in may have stored others meanwhile.
    const current = await readTokens(owner)
    if (current.updatedAt <= stored.updatedAt) throw toMissing(toRejection(error))
  }
}

async function toToken({ accessToken, expiresAt, scope }: StoredTokens): Promise<ProviderToken> {
  // GitHub and LinkedIn separate them with commas.
  const scopes = scope.split(/[ ,]/).filter((name) => name !== '')
  return { accessToken: await accessToken(), expiresAt, scopes }
}

/** A provider that rejects a refresh token has revoked it. An invalid response says nothing about it. */
function toMissing(rejection: Error): Error {
  const isRejected = isEndpointError(rejection) && rejection.code === 'SIGN_IN_FAILED'
  if (!isRejected) return rejection
  const { cause } = rejection
  return oauthError(cause instanceof Fault ? 'PROVIDER_UNAVAILABLE' : 'PROVIDER_TOKEN_MISSING', { cause })
}
