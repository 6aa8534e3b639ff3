export type { AnyDatabase } from './database/database.ts'
export type { OwnedDatabase } from './database/lazy-store.ts'
export type {
  AccountTable,
  AuditTable,
  AuthKysely,
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
export {
  type Auth,
  type AuthOptions,
  createAuth,
  type LazyAuth,
  type LazyAuthOptions,
} from './endpoints/create-auth.ts'
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
