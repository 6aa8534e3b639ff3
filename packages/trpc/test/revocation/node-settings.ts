import type { PostgresOptions } from '@sallyport/core/postgres'

/** A node's settings. */
export interface NodeSettings {
  readonly databaseUrl: string
  readonly signingKeys: unknown
  /** How often every open stream emits, in milliseconds. */
  readonly tickMs: number
  /** How many verified JWTs it keeps. @default 10_000 */
  readonly cacheSize?: number
  /** Of PostgreSQL, and of Step 2. */
  readonly timeouts?: Pick<PostgresOptions, 'lookupTimeoutMs' | 'statementTimeoutMs'>
}

/** For sessions that a test begins long before it ends them. */
export const LONG_RUN = { jwt: { expiresInSeconds: 3_600 }, session: { freshForSeconds: 3_600 } } as const

/** Of nodes that must accept each call, on a busy machine too. */
export const PATIENT = { timeouts: { lookupTimeoutMs: 60_000, statementTimeoutMs: 60_000 } } as const

/** The base URL that the nodes are configured with. */
export const BASE_URL = 'http://localhost:3000'
