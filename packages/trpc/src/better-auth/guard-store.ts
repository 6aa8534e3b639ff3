import { type AuthConfig, AuthError, type AuthStore, type SessionReader } from '@sallyport/core'
import { checkKeys, checkLookup, requireReady } from '@sallyport/core/internal/server'
import type { DatabaseStore } from './database-store.ts'
import { followAdapter } from './follow-adapter.ts'
import { followStorage } from './follow-storage.ts'
import type { BetterAuthContext } from './instance.ts'
import type { KnownTokens } from './known-tokens.ts'
import { rejectBanned } from './reject-banned.ts'
import { withVersions } from './session-versions.ts'
import { type BetterAuthSource, keepsRows } from './source.ts'
import { storageStore } from './storage-store.ts'

/** The store of a guard. It publishes the changes that Better Auth makes in this process. */
export interface GuardStore {
  open(): AuthStore
  /** Publishes the changes of Better Auth to the feed of the store. */
  follow(context: BetterAuthContext): void
  ready(): Promise<void>
  close(): Promise<void>
}

interface GuardStoreOptions {
  readonly source: BetterAuthSource
  readonly config: AuthConfig
  readonly tokens: KnownTokens
}

/** @param rows for sessions that are in the database */
export function createGuardStore(
  rows: DatabaseStore,
  { source, config, tokens }: GuardStoreOptions,
): GuardStore {
  const following: (() => void)[] = []
  let isClosed = false
  let inner: AuthStore | undefined
  let store: AuthStore | undefined

  function openInner(): AuthStore {
    inner ??= keepsRows(source.auth) ? rows.store : storageStore(source, { config, tokens })
    return inner
  }

  const stored: SessionReader = {
    findSession(key) {
      if (isClosed) throw new AuthError('SESSIONS_UNAVAILABLE', { cause: new Error('The guard is closed') })
      return openInner().sessions.findSession(key)
    },
  }
  const sessions = rejectBanned(withVersions(stored, source), { source, now: () => config.now() })

  return {
    open() {
      // A prototype, because the members of a store may change when it opens.
      const opened: AuthStore = store ?? Object.create(openInner(), { sessions: { value: sessions } })
      store = opened
      return opened
    },
    follow({ adapter, options: { secondaryStorage } }) {
      if (isClosed) return
      const listener: AuthStore['revocations']['publish'] = (change) => inner?.revocations.publish(change)
      following.push(followAdapter(adapter, listener))
      if (secondaryStorage !== undefined && !keepsRows(source.auth))
        following.push(followStorage(secondaryStorage, { tokens, listener }))
    },
    ready: () =>
      requireReady([
        () => config.baseUrl,
        async () => {
          await source.load()
          await checkKeys(config)
        },
        () => checkTables(source),
        () => checkLookup(config, { findSession: (key) => openInner().sessions.findSession(key) }),
      ]),
    async close() {
      isClosed = true
      for (const stop of following.splice(0)) stop()
      await rows.close()
    },
  }
}

/** Reads a row of each table of Better Auth that both steps need. */
async function checkTables(source: BetterAuthSource): Promise<void> {
  const { adapter } = await source.load()
  const models = keepsRows(source.auth) ? ['session', 'user'] : ['user']
  await Promise.all(models.map((model) => adapter.findMany({ model, where: [], limit: 1 })))
}
