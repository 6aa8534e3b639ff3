import type { AuthConfig, AuthDatabase, AuthStore } from '@sallyport/core'
import { withAuthStore } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import type { Session, User } from 'better-auth'
import { type AuthContext, type AuthContextFactory, createAuthContext } from '../server/context.ts'
import { authResponseMeta } from '../server/errors.ts'
import { type PermissionGuards, permissionGuards } from '../server/require-permission.ts'
import { type BoundBetterAuthApi, createGetAuth } from './bound-api.ts'
import { databaseStore } from './database-store.ts'
import { type BetterAuthGuardOptions, guardConfig } from './guard-config.ts'
import { createGuardStore } from './guard-store.ts'
import type { BetterAuth } from './instance.ts'
import { createKnownTokens } from './known-tokens.ts'
import { createRenewal } from './renewal.ts'
import { createSource } from './source.ts'

export type { BetterAuthGuardOptions } from './guard-config.ts'

/** Guards for the sessions of Better Auth. `sessionsOf(guard)` reads them. */
export interface BetterAuthGuard<Auth extends BetterAuth = BetterAuth>
  extends AuthContextFactory,
    PermissionGuards,
    // Omits our Kysely, so `ctx.transaction` is that of the app's client.
    AuthDatabase<Omit<AuthStore, 'database'>> {
  /**
   * Adds Step 2 to the app's database client, so it can be `ctx.db`. Returns the client. If several guards
   * share it, each call uses its own guard's sessions, but `sessionsOf(db)` returns those of the first guard.
   */
  attach<Database extends object>(db: Database): Database & AuthDatabase<Omit<AuthStore, 'database'>>
  /**
   * Returns `auth.api` with the caller's headers applied. tRPC's response sends the cookies that it sets,
   * except over WebSocket, with `httpBatchStreamLink`, and in subscriptions.
   *
   * @throws ConfigurationError from a method that creates a session over one of these
   * @example await guard.getAuth(ctx).api.signOut()
   */
  getAuth(ctx: AuthContext): { readonly api: BoundBetterAuthApi<Auth['api']> }
  /** Adds Better Auth's cookies and the headers of guarded responses. Pass it to HTTP handlers. */
  readonly responseMeta: typeof authResponseMeta
  /**
   * Checks Better Auth's secret, URL, origins, and tables. Await it before the server listens.
   * @throws ConfigurationError with one line for each problem
   */
  ready(): Promise<void>
  /** Closes the guard's own connections, never Better Auth's. Later calls get 503. */
  close(): Promise<void>
  /** The settings that both steps read. */
  readonly config: AuthConfig
  /** Only for types: those of `ctx.session` and `ctx.user`. It doesn't exist at run time. */
  readonly $Infer: { readonly Session: Columns<Auth['options']> }
}

/** Not `Auth['$Infer']`, which may have the type that `customSession` gives to responses. */
interface Columns<Options extends BetterAuth['options']> {
  readonly session: Session<Options['session'], Options['plugins']>
  readonly user: User<Options['user'], Options['plugins']>
}

/**
 * Creates guards for an app that signs users in with Better Auth. Step 1 verifies its session cookie, and
 * Step 2 reads its tables on every call. The guard reads nothing until a call needs it.
 *
 * @example
 * export const guard = betterAuthGuard(auth)
 * export const httpContext = (o: HttpContextOptions) => ({ ...guard.http(o), db: guard.attach(db) })
 * export const wsContext = (o: WsContextOptions) => ({ ...guard.ws(o), db: guard.attach(db) })
 */
export function betterAuthGuard<Auth extends BetterAuth>(
  auth: Auth,
  options?: BetterAuthGuardOptions,
): BetterAuthGuard<Auth>
export function betterAuthGuard<Auth extends BetterAuth>(
  auth: Auth,
  options: BetterAuthGuardOptions = {},
): Omit<BetterAuthGuard<Auth>, '$Infer'> {
  const tokens = createKnownTokens()
  const source = createSource(auth, (context) => follow(context))
  const config = guardConfig(source, { ...options, tokens })
  const rows = databaseStore(source, { config, client: options.client })
  const { open, follow, ready, close } = createGuardStore(rows, { source, config, tokens })
  const own = {
    get [authStore]() {
      return open()
    },
  }
  return {
    ...createAuthContext(config, { db: own, ownsStore: true, renew: createRenewal(source, config) }),
    // Not spread, which would open it.
    get [authStore]() {
      return open()
    },
    attach(db) {
      rows.attach(db)
      // Another guard of the client may need its store there. Calls of this one use its own.
      return isAttached(db) && !closedStores.has(db[authStore]) ? db : withAuthStore(db, open())
    },
    ...permissionGuards,
    getAuth: createGetAuth<Auth['api']>(auth.api, source, config),
    responseMeta: authResponseMeta,
    ready,
    close() {
      closedStores.add(open())
      return close()
    },
    config,
  }
}

/** The stores of closed guards, which a client may still carry after a hot reload. */
const closedStores = new WeakSet<AuthStore>()

function isAttached<Database extends object>(
  db: Database,
): db is Database & AuthDatabase<Omit<AuthStore, 'database'>> {
  return authStore in db
}
