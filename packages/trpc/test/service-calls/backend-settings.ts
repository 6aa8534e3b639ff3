/** A backend's settings. */
export interface BackendSettings {
  readonly databaseUrl: string
  readonly socketPath: string
  readonly baseUrl: string
  readonly userJwks: object
  readonly serviceJwks: object
}

/** The app's own table, with a row for each execution of a mutation. */
export interface BackendTables {
  readonly execution: { id: string }
}
