/** What a node is told. */
export interface NodeSettings {
  readonly databaseUrl: string
  readonly signingKeys: unknown
  /** How often every open stream emits, in milliseconds. */
  readonly tickMs: number
}

/** What the nodes believe to be their own address. */
export const BASE_URL = 'http://localhost:3000'
