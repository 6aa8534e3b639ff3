import { AuthError } from '../protocol/errors.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import { type AuthDatabase, type AuthStore, authStore } from '../session/auth-store.ts'
import type { AnyDatabase } from './database.ts'
import type { Opening } from './open-once.ts'

/** A database that an auth server can open, and close again. */
export type OwnedDatabase = AnyDatabase & { readonly db: AuthDatabase; close(): Promise<void> }

type LazyDatabase = Opening<{ readonly database: OwnedDatabase }>

/** The members of a database or of a store on other tables. */
export type OpenedMembers = Required<Pick<AuthStore, 'sessions' | 'revocations' | 'limits'>> &
  Pick<AuthStore, 'locks'>

/** Creates a store whose first lookup opens the database. From then on, its members are the database's. */
export function lazyStore<Opened>(
  opening: Opening<Opened>,
  storeOf: (opened: Opened) => OpenedMembers,
): AuthStore {
  const open = async () => storeOf(await opening.open())
  const current = () => (opening.current === undefined ? undefined : storeOf(opening.current))
  // No read was at this revision, so one that began before the database was open is never shared.
  const revocations: RevocationFeed = { revision: -1, subscribe: () => () => {}, publish() {} }
  const sessions: AuthStore['sessions'] = {
    findSession: async (key) => (await open()).sessions.findSession(key),
  }
  const limits: AuthStore['limits'] = {
    consume: async (key, limit) => (await open()).limits.consume(key, limit),
    giveBack: async (key, limit) => (await open()).limits.giveBack?.(key, limit),
  }
  return {
    get sessions() {
      return current()?.sessions ?? sessions
    },
    get revocations() {
      return current()?.revocations ?? revocations
    },
    get limits() {
      return current()?.limits ?? limits
    },
    get locks() {
      return storeOf(requireOpen(opening)).locks
    },
  }
}

interface LazyDbOptions {
  readonly store: AuthStore
  /** Returns the database if another copy of the module has opened it. */
  readonly findShared: () => OwnedDatabase | undefined
}

/** Creates a handle like the `db` of a database, whose guards open it. Queries throw until then. */
export function lazyDb(opening: LazyDatabase, { store, findShared }: LazyDbOptions): AuthDatabase {
  const unopened = Object.create(store, {
    database: { get: () => requireOpen(opening).database.db[authStore].database },
  })
  return new Proxy<AuthDatabase>(
    { [authStore]: unopened },
    {
      get(target, name) {
        if (opening.current === undefined && name === authStore) return target[authStore]
        const { db } = opening.current?.database ?? findShared() ?? requireOpen(opening).database
        const member: unknown = Reflect.get(db, name)
        return typeof member === 'function' ? member.bind(db) : member
      },
    },
  )
}

/** Returns what is open. Otherwise, opens it for the next caller. @throws AuthError `SESSIONS_UNAVAILABLE` */
export function requireOpen<Opened>(opening: Opening<Opened>): Opened {
  if (opening.current !== undefined) return opening.current
  opening.open().catch(() => {})
  const cause = new Error('The database is not open yet. Await auth.ready() before the first call')
  throw new AuthError('SESSIONS_UNAVAILABLE', { cause })
}
