import {
  type AuthConfig,
  AuthError,
  type AuthStore,
  type SessionKey,
  type SessionReader,
} from '@sallyport/core'
import { memoryFeed, memoryLimits } from '@sallyport/core/internal/server'
import { createRowReader, type RowReader } from './adapter-store.ts'
import type { KnownTokens } from './known-tokens.ts'
import type { BetterAuthSource } from './source.ts'

/** Creates a store for sessions that are only in Better Auth's secondary storage. */
export function storageStore(
  source: BetterAuthSource,
  { config, tokens }: { config: AuthConfig; tokens: KnownTokens },
): AuthStore {
  let reader: RowReader | undefined
  const sessions: SessionReader = {
    async findSession(key) {
      const context = await source.load()
      const { internalAdapter } = context
      reader ??= createRowReader(context, config.issuer)
      const token = tokens.tokenOf(key.sessionId) ?? (await findToken(key))
      const found = token === null ? null : await internalAdapter.findSession(token)
      if (found === null) return null
      // The storage has a copy from the sign-in. Changes of a role or a ban may only be in the database.
      const hasDatabase = context.options.database !== undefined
      const user = hasDatabase ? await reader.find('user', { id: key.userId }) : found.user
      return user === null ? null : reader.toSession(found.session, user)
    },
  }

  /** Finds a session's evicted token. @throws AuthError `TOKEN_INVALID` if only the cookie has it */
  async function findToken({ sessionId, userId }: SessionKey): Promise<string | null> {
    const { internalAdapter } = await source.load()
    const listed = await internalAdapter.listSessions(userId)
    if (listed.length === 0) return null
    const token = listed.find(({ id }) => id === sessionId)?.token
    if (typeof token !== 'string') throw new AuthError('TOKEN_INVALID')
    tokens.add(token, { sessionId, userId })
    return token
  }

  return { sessions, revocations: memoryFeed(), limits: memoryLimits() }
}
