const CORE = 'packages/core'
const TRPC = 'packages/trpc'

/** Files that are mutated together, and the tests that can kill their mutants. */
export interface Group {
  readonly mutate: readonly string[]
  readonly tests: readonly string[]
  /** Whether each test file needs its own process, because it fakes globals. */
  readonly isolate?: boolean
  /** `forks` for tests that change the time zone, which threads can't. @default 'threads' */
  readonly pool?: 'threads' | 'forks'
}

/** The files of `trpc/src/server`; the others belong to the guards. */
const RESPONSES = [
  'assert-guarded',
  'create-handler',
  'errors',
  'fastify-plugin',
  'limit-body',
  'request-headers',
  'split-frame',
]
const STREAMS = [
  'auth-handle',
  'auth-request',
  'sent-request',
  'session-read',
  'call-lease',
  'drain',
  'guard-stream',
  'lease-queue',
  'session-lease',
  'session-leases',
  'stopping-streams',
]
const SOCKETS = [
  'frame-queue',
  'guard-socket',
  'limit-addresses',
  'limit-sockets',
  'open-calls',
  'socket-limiter',
  'socket-limits',
  'upgraded-sockets',
  'web-socket-options',
]

/** In the order in which they run. An interrupted run keeps the results of finished groups. */
export const GROUPS: Readonly<Record<string, Group>> = {
  'core-request': {
    mutate: [`${CORE}/src/request/{cookie,credentials,foreign-cookie,origin}.ts`],
    tests: [`${CORE}/test/{request/{cookie,credentials,origin},session/session-cookie-proof}.test.ts`],
  },
  'core-jwt': { mutate: [`${CORE}/src/jwt/*.ts`], tests: [`${CORE}/test/jwt/*.test.ts`] },
  'core-session': {
    mutate: [`${CORE}/src/session/!(read-date).ts`],
    tests: [`${CORE}/test/session/*.test.ts`],
  },
  'core-dates': {
    mutate: [`${CORE}/src/session/read-date.ts`],
    tests: [`${CORE}/test/session/read-date.test.ts`],
    pool: 'forks',
  },
  'core-keys': {
    mutate: [`${CORE}/src/keys/!(dynamic-jwks).ts`],
    tests: [`${CORE}/test/keys/!(dynamic-jwks).test.ts`],
  },
  'core-jwks': {
    mutate: [`${CORE}/src/keys/dynamic-jwks.ts`],
    tests: [`${CORE}/test/keys/dynamic-jwks.test.ts`],
  },
  'trpc-responses': {
    mutate: [`${TRPC}/src/server/{${RESPONSES}}.ts`],
    tests: [
      `${TRPC}/test/server/{${RESPONSES}}.test.ts`,
      `${TRPC}/test/server/{auth-error-middleware,cache-control,cross-site,error-conversion,failures,replay}.test.ts`,
    ],
  },
  'trpc-guards': {
    mutate: [`${TRPC}/src/server/!(${[...RESPONSES, ...STREAMS, ...SOCKETS].join('|')}).ts`],
    tests: [
      `${TRPC}/test/server/{bans-and-roles,bind-session,context,denials,factor-policies,get-session}.test.ts`,
      `${TRPC}/test/server/{guard,guard-output}.test.ts`,
      `${TRPC}/test/server/{lazy-auth,rate-limit,require-{organization-role,permission,role},required-factor}.test.ts`,
      `${TRPC}/test/server/{,optional-,sensitive-}session-middleware.test.ts`,
      `${TRPC}/test/transaction/{client-transaction,deadline,transaction}.test.ts`,
    ],
  },
  'trpc-streams': {
    mutate: [`${TRPC}/src/server/{${STREAMS}}.ts`],
    tests: [
      `${TRPC}/test/server/{auth-handle,auth-request,call-lease,guard-stream,lease-queue.alone,session-lease}.test.ts`,
      `${TRPC}/test/server/{bans-and-roles,context,denials,failures,guard,guard-output,telemetry.alone}.test.ts`,
      `${TRPC}/test/drain/*.test.ts`,
    ],
    isolate: true,
  },
  'trpc-sockets': {
    mutate: [`${TRPC}/src/server/{${SOCKETS}}.ts`],
    tests: [
      `${TRPC}/test/server/{guard-socket.alone,open-calls,socket-limiter.alone,socket-limits}.test.ts`,
      `${TRPC}/test/server/{telemetry.alone,web-socket-options}.test.ts`,
      `${TRPC}/test/drain/drain.test.ts`,
    ],
    isolate: true,
  },
}
