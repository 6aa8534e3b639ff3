/** A node's settings. */
export interface NodeSettings {
  readonly databaseUrl: string
  readonly signingKeys: unknown
  /** How often every open stream emits, in milliseconds. */
  readonly tickMs: number
  /** How many verified JWTs it keeps. @default 10_000 */
  readonly cacheSize?: number
  /** How long a lookup may take, in milliseconds. @default 2_000 */
  readonly lookupTimeoutMs?: number
}

/** For sessions that a test begins long before it ends them. */
export const LONG_RUN = { jwt: { expiresInSeconds: 3_600 }, session: { freshForSeconds: 3_600 } } as const

/** Of nodes that must accept each call, on a busy machine too. */
export const PATIENT = { lookupTimeoutMs: 60_000 } as const

/** The base URL that the nodes are configured with. */
export const BASE_URL = 'http://localhost:3000'
