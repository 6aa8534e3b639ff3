/** What a server is told. */
export interface ServerSettings {
  readonly databasePath: string
  readonly signingKeys: unknown
}

/** What the servers believe to be their own address. */
export const BASE_URL = 'http://localhost:3000'
