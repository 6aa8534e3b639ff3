/** The settings that a server process receives. */
export interface ServerSettings {
  readonly databasePath: string
  readonly signingKeys: unknown
}

/** The address that the servers treat as theirs. */
export const BASE_URL = 'http://localhost:3000'
