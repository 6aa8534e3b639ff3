import type { AnyDatabase } from '../database/database.ts'
import { lazyDb, lazyStore, type OwnedDatabase, requireOpen } from '../database/lazy-store.ts'
import { openOnce } from '../database/open-once.ts'
import { preparePlugins } from '../database/schema/prepare-tables.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { closeShared, findShared, openPrepared, openShared } from '../database/shared-databases.ts'
import { watchFile } from '../database/watch-file.ts'
import { reportSource } from '../events/failure-source.ts'
import { reportFailure } from '../events/report-failure.ts'
import { type PruneReport, prune, requireAuditDays } from '../lifecycle/prune.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { MAX_TIMER_MS } from '../protocol/settings.ts'
import type { AuthStore } from '../session/auth-store.ts'
import { checkKeys, checkLookup, requireReady } from '../session/is-ready.ts'
import { type Api, createApi, type ServerApi } from './api.ts'
import { createEndpointServer, endpointsOf } from './bind-endpoints.ts'
import type { EndpointServer } from './create-context.ts'
import { type AuthDefinition, type AuthPlugin, requireSigningKeys } from './definition.ts'
import { createHandler, type RequestOptions } from './handler.ts'
import { checkWrite, createReadiness, type Readiness } from './readiness.ts'

export interface Auth<Plugins extends readonly AuthPlugin[] = readonly []> {
  /** Responds to every request under `/api/auth`; never rejects. */
  readonly handler: (request: Request, options?: RequestOptions) => Promise<Response>
  /** The endpoints as methods for the server's own code, with the same checks. */
  readonly api: Api<Plugins> & ServerApi
  /** For functions such as `revokeSession`: changes run the hooks of the plugins, and call `onEvent`. */
  readonly database: SessionDatabase
  /** Removes expired rows. */
  prune(): Promise<PruneReport>
  /**
   * Opens the database if necessary, and checks that keys, configuration, and database work. Await it before
   * the server listens.
   * @throws ConfigurationError that lists every problem, one per line
   */
  ready(): Promise<void>
  /** Checks what works now, for health checks. Callers within a second share one check. Never rejects. */
  readiness(): Promise<Readiness>
  /** Stops the scheduled pruning, and closes the database if this opened it. */
  close(): Promise<void>
}

/** An auth server whose database opens at the first call. While that fails, calls get 503. */
export interface LazyAuth<
  Plugins extends readonly AuthPlugin[] = readonly [],
  Database extends OwnedDatabase = OwnedDatabase,
> extends Auth<Plugins> {
  /** The `db` for the context. Guards open the database; queries before that throw `SESSIONS_UNAVAILABLE`. */
  readonly db: Database['db']
  /** For `withAuthStore`, with the app's own client. */
  readonly store: AuthStore
}

export interface AuthOptions {
  /** Seconds between two calls of {@link Auth.prune}; 0 is never. @default 3_600 */
  pruneEverySeconds?: number
  /** How long to keep records of the audit trail, in days; `Infinity` keeps them forever. @default 365 */
  auditDays?: number
}

/** Options of an auth server that opens its database. */
export interface LazyAuthOptions extends AuthOptions {
  /**
   * All modules of an app that open a database by this name share one: after a hot reload, and in frameworks
   * that evaluate a module several times. Apps with another origin or other cookies have their own.
   * @default not shared
   */
  name?: string
}

/**
 * Creates the auth server of a definition, and migrates the tables of its plugins. On a database opened with
 * `migrate: false`, it only checks them. With a function that opens the database, it returns at once.
 * @example
 * const auth = await createAuth(authDefinition, database)
 * app.all('/api/auth/*', (c) => auth.handler(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }))
 * @example
 * export const auth = createAuth(authDefinition, () => openSqlite('file:data/app.db'), { name: 'app' })
 * const context = createAuthContext(authConfig, auth)
 * export const httpContext = (options: HttpContextOptions) => ({ ...context.http(options), db: auth.db })
 * @throws ConfigurationError if two endpoints have the same name or path, signing keys or a plugin's setting
 * are missing, or Step 2 doesn't read a column of the definition; the error of a failed migration
 */
export function createAuth<Plugins extends readonly AuthPlugin[], Database extends OwnedDatabase>(
  definition: AuthDefinition<Plugins>,
  open: () => Promise<Database>,
  options?: LazyAuthOptions,
): LazyAuth<Plugins, Database>
export function createAuth<Plugins extends readonly AuthPlugin[]>(
  definition: AuthDefinition<Plugins>,
  database: AnyDatabase,
  options?: AuthOptions,
): Promise<Auth<Plugins>>
export function createAuth<Plugins extends readonly AuthPlugin[]>(
  definition: AuthDefinition<Plugins>,
  source: AnyDatabase | (() => Promise<OwnedDatabase>),
  options: LazyAuthOptions = {},
): Promise<Auth<Plugins>> | LazyAuth<Plugins> {
  return typeof source === 'function'
    ? createLazyAuth(definition, source, options)
    : createOpenedAuth(definition, source, options)
}

type AuthMethods<Plugins extends readonly AuthPlugin[]> = Omit<Auth<Plugins>, 'database' | 'close'>

async function createOpenedAuth<Plugins extends readonly AuthPlugin[]>(
  definition: AuthDefinition<Plugins>,
  database: AnyDatabase,
  options: AuthOptions,
): Promise<Auth<Plugins>> {
  const setup = setUp(definition, options)
  const server = await setup.prepare(database)
  return {
    ...setup.methods(async () => server),
    database: server.database,
    close: async () => setup.stop(),
  }
}

function createLazyAuth<Plugins extends readonly AuthPlugin[]>(
  definition: AuthDefinition<Plugins>,
  open: () => Promise<OwnedDatabase>,
  { name, ...options }: LazyAuthOptions,
): LazyAuth<Plugins> {
  const { prepare, stop, report, methods } = setUp(definition, options)
  const { config } = definition
  // Another app in the process may use the same name. A hot reload keeps the origin and the cookies.
  const sharedName = () => `${name} ${config.issuer} ${config.cookies.session}`
  const opening = openOnce(
    async () =>
      name === undefined
        ? openPrepared({ open, prepare })
        : openShared({ open, prepare, name: sharedName(), stop }),
    {
      config,
      onError: (error) => report(error, 'open'),
      async end({ database }) {
        stop()
        await (name === undefined ? database.close() : closeShared(sharedName(), database))
      },
    },
  )
  const store = lazyStore(opening, ({ database }) => database)
  const db = lazyDb(opening, {
    store,
    findShared() {
      try {
        return name === undefined ? undefined : (findShared(sharedName()) as OwnedDatabase | undefined)
      } catch {
        // An invalid configuration is an error of the opening.
        return undefined
      }
    },
  })
  return {
    ...methods(async () => (await opening.open()).result),
    store,
    get db() {
      return opening.current?.database.db ?? db
    },
    get database() {
      return requireOpen(opening).result.database
    },
    close: () =>
      opening.close().catch((error: unknown) => {
        report(error, 'close')
        throw error
      }),
  }
}

/** Checks what needs no database, and returns the parts of an auth server. */
function setUp<Plugins extends readonly AuthPlugin[]>(
  definition: AuthDefinition<Plugins>,
  { pruneEverySeconds = 3_600, auditDays = 365 }: AuthOptions,
) {
  const { config, plugins } = definition
  const endpoints = endpointsOf(definition)
  const report = (error: unknown, path: string) => reportFailure(error, { path, step: 'background' }, config)
  const tables = plugins.flatMap(({ expiringTables = [] }) => expiringTables)
  const everyMs = pruneEverySeconds * 1000
  if (!(everyMs >= 0 && everyMs <= MAX_TIMER_MS))
    throw new ConfigurationError('pruneEverySeconds must be a number from 0 to 2_147_483')
  requireAuditDays(auditDays)
  const stops: (() => void)[] = []
  let timer: ReturnType<typeof setInterval> | undefined
  const pruneNow = ({ database }: EndpointServer) => prune(database, { now: config.now(), tables, auditDays })

  async function prepare(database: AnyDatabase): Promise<EndpointServer> {
    const server = createEndpointServer(definition, database)
    await preparePlugins(plugins, server.database)
    stops.push(
      reportSource(database.revocations.failures, 'feed', config),
      watchFile(server.database, config),
    )
    // Calls are checked even if nothing can be written.
    await checkWrite(server.database).catch((error: unknown) => report(error, 'open'))
    const pruneLater = () => void pruneNow(server).catch((error: unknown) => report(error, 'prune'))
    if (everyMs > 0) timer = setInterval(pruneLater, everyMs)
    // The timer alone must not keep the process alive.
    timer?.unref()
    return server
  }

  const methods = (connect: () => Promise<EndpointServer>): AuthMethods<Plugins> => ({
    handler: createHandler(endpoints, { config, connect }),
    api: createApi<Plugins>(endpoints, config, connect),
    prune: async () => pruneNow(await connect()),
    ready: () =>
      requireReady([
        () => checkKeys(config),
        () => requireSigningKeys(definition),
        async () => checkLookup(config, (await connect()).database.sessions),
      ]),
    readiness: createReadiness(config, async () => (await connect()).database),
  })
  function stop(): void {
    clearInterval(timer)
    for (const end of stops.splice(0)) end()
  }
  return { prepare, stop, report, methods }
}
