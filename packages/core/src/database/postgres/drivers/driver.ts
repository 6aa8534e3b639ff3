/** A statement with its values. Drivers that can, prepare a named one once per connection. */
export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly name?: string
  /** Reads rows as arrays, which is faster. */
  readonly rowMode?: 'array'
}

export interface StatementResult<Row> {
  readonly rows: Row[]
  readonly rowCount: number | null
  readonly command: string
}

/** Runs one statement. Rejects with the driver's error, whose `code` is the server's SQLSTATE. */
export type Query = <Row>(statement: Statement) => Promise<StatementResult<Row>>

/** A connection that runs no other caller's statements until it is released. */
export interface ReservedConnection {
  readonly query: Query
  /** Gives the connection back, or closes it if a statement or transaction is open. */
  release(): void
}

export interface Listening {
  /** Runs statements of the feed, never two at once. */
  readonly query: Query
  close(): void
}

export interface ListenEvents {
  readonly onPayload: (payload: string) => void
  /** The connection has ended or was replaced, so notifications may be lost. */
  readonly onEnd: () => void
}

/** How this library reaches PostgreSQL. Each driver package has one implementation. */
export interface PostgresDriver {
  readonly query: Query
  /** Reserves a connection for a transaction. Absent over HTTP. */
  connect?(): Promise<ReservedConnection>
  /** Listens on one connection. Absent over HTTP. */
  listen?(channel: string, events: ListenEvents): Promise<Listening>
  /** Opens dedicated connections for lookups. Without it, lookups use `query`. */
  openLookups?(events: LookupEvents): LookupConnections
  /** Closes what the driver opened, never the app's pool. */
  close(): Promise<void>
}

export interface LookupConnection {
  readonly query: Query
  /** Runs a lookup, whose caller has a deadline and replaces the connection after it. */
  readonly lookUp: Query
  /** If true, a statement fails if row-level security would hide rows from it. */
  readonly rejectsHiddenRows?: boolean
}

export interface LookupEvents {
  /** Prepares a new connection, so a failover costs no more than the lookup. */
  readonly prepare: (connection: LookupConnection) => Promise<void>
  /** Called when a connection is ready, and to end an outage from before a freeze of the process. */
  readonly onReady: () => void
  /** Called when no connection is left and an attempt to connect has failed. */
  readonly onOutage: (error: unknown) => void
}

export interface LookupConnections {
  /** Resolves with the first connection, and rejects if it can't be opened. */
  readonly opened: Promise<void>
  /** Returns the connection for the next statement, if one is ready. If none is, it looks for a freeze. */
  current(): LookupConnection | undefined
  /** Returns the connection that no lookup uses, if one is ready. */
  spare(): LookupConnection | undefined
  replace(connection: LookupConnection): void
  /** Closes all connections once `running`, the current statements, have finished. */
  close(running: Promise<unknown>): Promise<void>
}
