/** What a backend is told. */
export interface BackendSettings {
  readonly databaseUrl: string
  readonly socketPath: string
  readonly baseUrl: string
  readonly userJwks: object
  readonly serviceJwks: object
}

/** The app's own table: a row for each time that a mutation was executed, however often that was. */
export interface BackendTables {
  readonly execution: { id: string }
}
