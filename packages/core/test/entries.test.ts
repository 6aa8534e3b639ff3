import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const pathOf = (entry: string) => fileURLToPath(new URL(`../src/${entry}`, import.meta.url))

/** The names of the types that an entry exports; the values are asked of the module itself. */
function typesOf(entry: string): string[] {
  const source = readFileSync(pathOf(entry), 'utf8')
  const declared = [...source.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name = '']) => name)
  const lists = [...source.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, isType, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && (isType !== undefined || name.startsWith('type ')))
      .map((name) => name.replace(/^type /, '')),
  )
  return [...declared, ...lists].sort()
}

describe('the exported names of', () => {
  test('@sallyport/core', async () => {
    expect(Object.keys(await import('@sallyport/core')).sort()).toMatchInlineSnapshot(`
      [
        "ALGORITHMS",
        "AuthError",
        "ConfigurationError",
        "EndpointError",
        "MAX_BATCH_SIZE",
        "MAX_PAYLOAD_BYTES",
        "REASONS",
        "authStore",
        "authenticate",
        "checkOrigin",
        "checkRateLimit",
        "cookieNames",
        "corsHeaders",
        "defineAuthConfig",
        "denial",
        "directAdapter",
        "dynamicJwks",
        "identify",
        "isAuthError",
        "isBanned",
        "isConfigurationError",
        "isEndpointError",
        "isFresh",
        "isReady",
        "isUndecided",
        "keysVersion",
        "positive",
        "readCookie",
        "readCredentials",
        "staticJwks",
        "transact",
        "validateIdentity",
        "validateSession",
        "verifyJws",
        "verifyJwt",
        "withAuthStore",
        "withCors",
      ]
    `)
    expect(typesOf('index.ts')).toMatchInlineSnapshot(`
      [
        "Algorithm",
        "AuthAdapter",
        "AuthConfig",
        "AuthConfigOptions",
        "AuthDatabase",
        "AuthEvent",
        "AuthEventType",
        "AuthStore",
        "Authenticated",
        "ConfigurationErrorCode",
        "CookieNames",
        "Credentials",
        "DynamicJwksOptions",
        "EventListener",
        "HeaderReader",
        "Identity",
        "IdentityCache",
        "KeySet",
        "KeyStanding",
        "OriginRequest",
        "PluginEvent",
        "ProvedSession",
        "RateLimit",
        "RateLimitStore",
        "Reason",
        "RequestKind",
        "Revocation",
        "RevocationCause",
        "RevocationFeed",
        "Session",
        "SessionCookie",
        "SessionDatabase",
        "SessionKey",
        "SessionStore",
        "SessionToken",
        "SessionUser",
        "StoredSession",
        "TransactOptions",
        "TrustedIssuer",
        "ValidateOptions",
        "VerificationAlgorithm",
        "VerificationKey",
        "VerifiedJws",
      ]
    `)
  })

  test('@sallyport/core/protocol', async () => {
    expect(Object.keys(await import('@sallyport/core/protocol')).sort()).toMatchInlineSnapshot(`
      [
        "AUTH_PATH",
        "CLIENT_HEADER",
        "CLIENT_LEEWAY_SECONDS",
        "COOKIE_PREFIX",
        "ENDPOINTS",
        "GRACE_SECONDS",
        "JWT_LIFETIME_SECONDS",
        "MAX_BATCH_SIZE",
        "MAX_PAYLOAD_BYTES",
        "NO_SESSION",
        "REASONS",
        "SESSION_HEADER",
        "SESSION_LIFETIME_SECONDS",
        "backOff",
        "isSessionOver",
        "isTokenReason",
      ]
    `)
    expect(typesOf('protocol.ts')).toMatchInlineSnapshot(`
      [
        "ActiveOrganizationResponse",
        "AdminUserResponse",
        "AuditRecordResponse",
        "AuthErrorData",
        "CurrentSessionResponse",
        "EndpointErrorData",
        "ErrorResponse",
        "HydrationState",
        "InvitationResponse",
        "MemberResponse",
        "OrganizationResponse",
        "Reason",
        "Route",
        "SessionResponse",
        "SuccessResponse",
        "TokenResponse",
        "UserResponse",
        "VerifyEmailResponse",
      ]
    `)
  })

  test('@sallyport/core/auth', async () => {
    expect(Object.keys(await import('@sallyport/core/auth')).sort()).toMatchInlineSnapshot(`
      [
        "EndpointError",
        "banUser",
        "beginSession",
        "bindEndpoints",
        "columnsOf",
        "commit",
        "createAuth",
        "createSession",
        "createSigningKey",
        "defineAuth",
        "defineEndpoint",
        "endpointsOf",
        "isEndpointError",
        "issueJwt",
        "memoryLimits",
        "migratePlugins",
        "parseSigningKeys",
        "prune",
        "refusals",
        "revokeSession",
        "revokeSessions",
        "setCookie",
        "toApiResult",
        "userName",
      ]
    `)
    expect(typesOf('auth.ts')).toMatchInlineSnapshot(`
      [
        "AddedColumns",
        "AdmittedContext",
        "AnyDatabase",
        "Api",
        "ApiMethod",
        "ApiOptions",
        "ApiResult",
        "AppPlugin",
        "Auth",
        "AuthDefinition",
        "AuthDefinitionOptions",
        "AuthOptions",
        "AuthPlugin",
        "AuthTables",
        "AuthTransaction",
        "Caller",
        "ChangeEvent",
        "ChangeHook",
        "ColumnShape",
        "ColumnType",
        "CoreEndpoints",
        "CreateSessionInput",
        "Defaulted",
        "DefinePayload",
        "Endpoint",
        "EndpointCallOptions",
        "EndpointCaller",
        "EndpointContext",
        "EndpointDefinition",
        "EndpointResult",
        "Endpoints",
        "EndpointsOf",
        "Flag",
        "IssuedJwt",
        "MigrationDialect",
        "MigrationReport",
        "Migrations",
        "NewSession",
        "NewSessionOptions",
        "NullableFlag",
        "NullableTimestamp",
        "PruneOptions",
        "PruneReport",
        "RecordEvent",
        "RefusalTable",
        "RequestOptions",
        "ServerApi",
        "SessionColumn",
        "SessionColumns",
        "SessionDatabase",
        "SessionOf",
        "SigningKey",
        "SigningKeys",
        "Timestamp",
        "UserColumn",
        "UserColumns",
        "UserOf",
      ]
    `)
  })

  test('@sallyport/core/plugins', async () => {
    expect(Object.keys(await import('@sallyport/core/plugins')).sort()).toMatchInlineSnapshot(`
      [
        "admin",
        "breachedPasswords",
        "createPasswordAccount",
        "emailPassword",
        "organization",
      ]
    `)
    expect(typesOf('plugins.ts')).toMatchInlineSnapshot(`
      [
        "AdminEndpoints",
        "AdminOptions",
        "AttemptLimits",
        "BanUserInput",
        "BreachedPasswordsOptions",
        "CancelInvitationInput",
        "ChangePasswordInput",
        "CheckPassword",
        "ChosenPassword",
        "CreateOrganizationInput",
        "DeliverInvitation",
        "Email",
        "EmailChangedEmail",
        "EmailPasswordEndpoints",
        "EmailPasswordOptions",
        "EmailUser",
        "InvitationDelivery",
        "InviteMemberInput",
        "LinkEmail",
        "ListAuditInput",
        "ListAuditOutput",
        "ListInvitationsOutput",
        "ListMembersOutput",
        "ListUsersInput",
        "ListUsersOutput",
        "NewPasswordAccount",
        "NewSignInEmail",
        "NoticeEmail",
        "OrganizationEndpoints",
        "OrganizationLimits",
        "OrganizationOptions",
        "OrganizationPageInput",
        "PasswordRules",
        "RemoveMemberInput",
        "ResetPasswordInput",
        "SendEmail",
        "SetActiveOrganizationInput",
        "SetMemberRoleInput",
        "SignInInput",
        "SignUpInput",
        "UpdateOrganizationInput",
      ]
    `)
  })

  test('@sallyport/core/sqlite', async () => {
    expect(Object.keys(await import('@sallyport/core/sqlite')).sort()).toMatchInlineSnapshot(`
      [
        "lockSession",
        "openSqlite",
        "openSqliteStore",
      ]
    `)
    expect(typesOf('sqlite.ts')).toMatchInlineSnapshot(`
      [
        "AccountTable",
        "AuditTable",
        "AuthTables",
        "DateEncoding",
        "Execute",
        "LockSession",
        "LockSessionOptions",
        "MigrationReport",
        "RateLimitTable",
        "RevocationLogTable",
        "SessionTable",
        "SqliteAuthDatabase",
        "SqliteOptions",
        "SqliteStore",
        "StoreMapping",
        "Timestamp",
        "UserTable",
      ]
    `)
  })

  test('@sallyport/core/postgres', async () => {
    expect(Object.keys(await import('@sallyport/core/postgres')).sort()).toMatchInlineSnapshot(`
      [
        "lockSession",
        "openPostgres",
        "openPostgresStore",
      ]
    `)
    expect(typesOf('postgres.ts')).toMatchInlineSnapshot(`
      [
        "AccountTable",
        "AuditTable",
        "AuthTables",
        "DateEncoding",
        "Execute",
        "LockSession",
        "LockSessionOptions",
        "MigrationReport",
        "PostgresAuthDatabase",
        "PostgresOptions",
        "PostgresStore",
        "RateLimitTable",
        "RevocationLogTable",
        "SessionTable",
        "StoreMapping",
        "Timestamp",
        "UserTable",
      ]
    `)
  })

  test('@sallyport/core/address', async () => {
    expect(Object.keys(await import('@sallyport/core/address')).sort()).toMatchInlineSnapshot(`
      [
        "addressBuckets",
        "clientAddress",
        "clientNetwork",
        "isPrivateAddress",
        "trustProxies",
      ]
    `)
    expect(typesOf('address.ts')).toMatchInlineSnapshot(`
      [
        "ProxyTrust",
      ]
    `)
  })

  test('@sallyport/core/key-file', async () => {
    expect(Object.keys(await import('@sallyport/core/key-file'))).toEqual(['openKeyFile'])
    expect(typesOf('key-file.ts')).toEqual(['KeyFile', 'KeyFileOptions'])
  })

  test('@sallyport/core/service', async () => {
    expect(Object.keys(await import('@sallyport/core/service')).sort()).toMatchInlineSnapshot(`
      [
        "BodyTooLargeError",
        "consumeToken",
        "digestBody",
        "issueServiceToken",
        "keySetsOf",
        "parseServiceSigningKeys",
        "readBytes",
        "rejectSharedKeys",
        "requireClaimText",
        "requireSecureUrl",
        "runOnce",
        "safely",
        "serviceAudience",
        "verifyServiceToken",
      ]
    `)
    expect(typesOf('service.ts')).toMatchInlineSnapshot(`
      [
        "ByteStream",
        "OnceCall",
        "OnceOutcome",
        "ServiceCall",
        "ServiceClaims",
        "ServiceKeys",
        "ServiceTokenOptions",
      ]
    `)
  })

  test('@sallyport/core/testing', async () => {
    expect(Object.keys(await import('@sallyport/core/testing')).sort()).toMatchInlineSnapshot(`
      [
        "TEST_PASSWORD",
        "countLookups",
        "createTestAuth",
        "createTestClock",
      ]
    `)
    expect(typesOf('testing.ts')).toMatchInlineSnapshot(`
      [
        "LookupCounter",
        "TestAuth",
        "TestClock",
        "TestSession",
      ]
    `)
  })
})

test('package.json names these entries, and no other', () => {
  const { exports, publishConfig } = JSON.parse(
    readFileSync(fileURLToPath(new URL('../package.json', import.meta.url)), 'utf8'),
  )
  const entries = [
    '.',
    './protocol',
    './auth',
    './plugins',
    './sqlite',
    './postgres',
    './testing',
    './address',
    './service',
    './key-file',
  ]
  expect(Object.keys(exports)).toEqual(entries)
  expect(Object.keys(publishConfig.exports)).toEqual(entries)
})
