import type { AnyDatabase } from './database/database.ts'
import { preparePlugins } from './database/schema/prepare-tables.ts'
import type { SessionDatabase } from './database/session-database.ts'
import { type Api, createApi, type ServerApi } from './endpoints/api.ts'
import { createEndpointServer, endpointsOf } from './endpoints/bind-endpoints.ts'
import type { AuthDefinition, AuthPlugin } from './endpoints/definition.ts'
import { createHandler, type RequestOptions } from './endpoints/handler.ts'
import { type PruneReport, prune } from './lifecycle/prune.ts'
import { ConfigurationError } from './protocol/errors.ts'
import { safeListener } from './protocol/safe-listener.ts'
import { MAX_TIMER_MS } from './protocol/settings.ts'

export type { AnyDatabase } from './database/database.ts'
export type {
  AccountTable,
  AuditTable,
  AuthTables,
  Defaulted,
  Flag,
  NullableFlag,
  NullableTimestamp,
  RateLimitTable,
  RevocationLogTable,
  SessionTable,
  Timestamp,
  UserTable,
} from './database/schema/kysely-tables.ts'
export type { MigrationDialect, MigrationReport, Migrations } from './database/schema/migrations.ts'
export type {
  AuthTransaction,
  ChangeEvent,
  ChangeHook,
  RecordEvent,
  SessionDatabase,
} from './database/session-database.ts'
export type {
  Api,
  ApiMethod,
  ApiOptions,
  ApiResult,
  ColumnSource,
  CreateSessionInput,
  EndpointsOf,
  ServerApi,
  SessionOf,
  UserOf,
} from './endpoints/api.ts'
export type { EndpointCaller, EndpointCallOptions } from './endpoints/bind-endpoints.ts'
export type { CoreEndpoints } from './endpoints/core-endpoints.ts'
export type { SessionColumn, SessionColumns, UserColumn, UserColumns } from './endpoints/declared-columns.ts'
export {
  type AppPlugin,
  type AuthDefinition,
  type AuthDefinitionOptions,
  type AuthPlugin,
  defineAuth,
  type Endpoints,
} from './endpoints/definition.ts'
export {
  type AuthorizedContext,
  type Caller,
  defineEndpoint,
  type Endpoint,
  type EndpointContext,
  type EndpointDefinition,
  type EndpointResult,
} from './endpoints/endpoint.ts'
export type { RequestOptions } from './endpoints/handler.ts'
export { beginSession } from './endpoints/issue-tokens.ts'
export { type DefinePayload, type IssuedJwt, issueJwt } from './jwt/issue-jwt.ts'
export { type KeyFile, type KeyFileOptions, openKeyFile } from './key-file/open-key-file.ts'
export { parseSigningKeys, type SigningKey, type SigningKeys } from './keys/signing-keys.ts'
export { banUser } from './lifecycle/ban-user.ts'
export { commit } from './lifecycle/commit.ts'
export { createSession, type NewSession, type NewSessionOptions } from './lifecycle/create-session.ts'
export { revokeSession, revokeSessions } from './lifecycle/end-session.ts'
export type { PruneReport } from './lifecycle/prune.ts'
export { type RejectionTable, rejections } from './protocol/endpoint-error.ts'
export { memoryLimits } from './rate-limit/memory-limits.ts'
export { setCookie } from './request/cookie.ts'
export type { AddedColumns, ColumnShape, ColumnType } from './session/added-columns.ts'

export interface Auth<Plugins extends readonly AuthPlugin[] = readonly []> {
  /** Responds to every request under `/api/auth`; never rejects. */
  handler(request: Request, options?: RequestOptions): Promise<Response>
  /** The endpoints as methods for the server's own code, with the same checks. */
  readonly api: Api<Plugins> & ServerApi
  /** For functions such as `revokeSession`: changes run the hooks of the plugins, and call `onEvent`. */
  readonly database: SessionDatabase
  /** Removes expired rows. */
  prune(): Promise<PruneReport>
  /** Stops the scheduled pruning. The database stays open. */
  close(): void
}

export interface AuthOptions {
  /** Receives every failure that became a 500 or came after the response. @default console.error */
  onError?: (error: unknown) => void | Promise<void>
  /** Seconds between two calls of {@link Auth.prune}; 0 is never. @default 3_600 */
  pruneEverySeconds?: number
  /** How long to keep records of the audit trail, in days; `Infinity` keeps them forever. @default 365 */
  auditDays?: number
}

/**
 * Creates the auth server of a definition, and migrates the tables of its plugins. On a database opened with
 * `migrate: false`, it only checks them.
 * @example
 * const auth = await createAuth(authDefinition, database)
 * app.all('/api/auth/*', (c) => auth.handler(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }))
 * @throws ConfigurationError if two endpoints have the same name or path, the definition has no signing keys,
 * or Step 2 doesn't read a column of the definition; the error of a failed migration
 */
export async function createAuth<Plugins extends readonly AuthPlugin[]>(
  definition: AuthDefinition<Plugins>,
  database: AnyDatabase,
  { onError = console.error, pruneEverySeconds = 3_600, auditDays = 365 }: AuthOptions = {},
): Promise<Auth<Plugins>> {
  const { config, plugins } = definition
  const endpoints = endpointsOf(definition)
  const reportError = safeListener(onError)
  const server = createEndpointServer(definition, database, reportError)
  await preparePlugins(plugins, server.database)
  const tables = plugins.flatMap(({ expiringTables = [] }) => expiringTables)
  const pruneNow = () => prune(server.database, { now: config.now(), tables, auditDays })
  const everyMs = pruneEverySeconds * 1000
  if (!(everyMs >= 0 && everyMs <= MAX_TIMER_MS))
    throw new ConfigurationError('pruneEverySeconds must be a number from 0 to 2_147_483')
  const timer = everyMs > 0 ? setInterval(() => void pruneNow().catch(reportError), everyMs) : undefined
  // The timer alone must not keep the process alive.
  timer?.unref()
  return {
    handler: createHandler(endpoints, server),
    api: createApi<Plugins>(endpoints, server),
    database: server.database,
    prune: pruneNow,
    close: () => clearInterval(timer),
  }
}
