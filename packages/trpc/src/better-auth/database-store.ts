import { type AuthConfig, type AuthStore, ConfigurationError } from '@sallyport/core'
import {
  isConfigurationError,
  lazyStore,
  type OpenedMembers,
  openOnce,
  reportFailure,
  reportSource,
  sessionSql,
  watchFile,
} from '@sallyport/core/internal/server'
import { adapterStore } from './adapter-store.ts'
import { type DatabaseClient, type FoundClient, findClient } from './find-client.ts'
import type { BetterAuthContext } from './instance.ts'
import { engineOf, memberOf } from './member.ts'
import type { BetterAuthSource } from './source.ts'
import { describeTables } from './tables.ts'

/** A store for sessions in Better Auth's database. The first lookup opens it. */
export interface DatabaseStore {
  readonly store: AuthStore
  /** Registers the app's database client. Only the first one is used. */
  attach(db: object): void
  /** Closes what the store opened, never the app's client. */
  close(): Promise<void>
}

type Opened = OpenedMembers & Parameters<typeof watchFile>[0] & { close(): Promise<void> }

interface StoreOptions {
  readonly config: AuthConfig
  /** The client that Better Auth uses, if it can't be found. */
  readonly client?: DatabaseClient | undefined
}

export function databaseStore(source: BetterAuthSource, { config, client }: StoreOptions): DatabaseStore {
  let db: object | undefined
  let stopWatching = () => {}
  const opening = openOnce(
    async () => {
      const opened = await openStore(await source.load(), { issuer: config.issuer, client, db })
      reportSource(opened.revocations.failures, 'feed', config)
      stopWatching = watchFile(opened, config)
      return opened
    },
    {
      config,
      end({ close }) {
        stopWatching()
        return close()
      },
      onError: (error) => reportFailure(error, { path: 'open', step: 'background' }, config),
    },
  )
  return {
    store: lazyStore(opening, (opened) => opened),
    attach(attached) {
      db ??= attached
    },
    close: opening.close,
  }
}

interface Place {
  readonly issuer: string
  readonly client: DatabaseClient | undefined
  readonly db: object | undefined
}

type Description = ReturnType<typeof describeTables>

async function openStore(context: BetterAuthContext, { issuer, client, db }: Place): Promise<Opened> {
  const database = memberOf(context.options, 'database')
  const found = findClient([client, database, memberOf(db, '$client'), db])
  if (found === null && db === undefined)
    throw new ConfigurationError(
      'The database is unknown. Call guard.attach(db) where you create the guard, before guard.ready().',
    )
  const described = describe(context, { db, issuer })
  if (typeof described !== 'string' && found !== null) return openNative(found, described)
  // The extension of Prisma for read replicas. A replica has a revoked session for longer.
  if (typeof memberOf(db, '$replica') === 'function')
    throw new ConfigurationError(
      "The Prisma client reads from replicas, which learn of revocations late. Pass the primary's client: betterAuthGuard(auth, { client }). Or give prismaAdapter() and guard.attach() the client without the extension.",
    )
  const reason = typeof described === 'string' ? described : 'its database client could not be found'
  const fix = found === null ? ' To avoid both, pass the client: betterAuthGuard(auth, { client }).' : ''
  console.warn(
    `sallyport: sessions are read with Better Auth's adapter, because ${reason}. A lookup is two or three queries, and a live stream ends up to 5 s after another process revokes its session.${fix}`,
  )
  const locks = typeof described === 'string' ? undefined : locksOf(context, described)
  return { ...adapterStore(context, issuer), locks, close: async () => {} }
}

/** Describes the tables, or returns the reason why our stores can't read them. */
function describe(context: BetterAuthContext, place: Pick<Place, 'db' | 'issuer'>): Description | string {
  try {
    return describeTables(context, place)
  } catch (error) {
    if (isConfigurationError(error)) return error.message
    throw error
  }
}

async function openNative(found: FoundClient, options: Description): Promise<Opened> {
  if (found.kind === 'sqlite' || found.kind === 'd1') {
    const { openSqliteStore } = await import('@sallyport/core/sqlite')
    return found.kind === 'd1' ? openSqliteStore(found, options) : openSqliteStore(found, options)
  }
  const { openPostgresStore } = await import('@sallyport/core/postgres')
  return found.kind === 'postgres'
    ? openPostgresStore({ pool: found.client }, options)
    : openPostgresStore({ pool: found.client }, options)
}

/** Returns the locks for `ctx.transaction` with a client that only its adapter can use, such as Prisma's. */
function locksOf(
  { adapter, options }: BetterAuthContext,
  { mapping, columns }: Description,
): AuthStore['locks'] {
  const engine = engineOf(adapter)
  if (engine === null || engine === 'mysql') return undefined
  const sql = sessionSql(engine, mapping, columns)
  const isSerial = engine === 'postgres' && options.advanced?.database?.generateId === 'serial'
  return isSerial ? { sql, columns, ids: { session: 'bigint', user: 'bigint' } } : { sql, columns }
}
