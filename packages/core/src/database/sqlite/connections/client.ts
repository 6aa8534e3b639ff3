/** A statement of better-sqlite3 or libsql. */
interface NativeStatement {
  readonly reader: boolean
  raw(): { get(...parameters: unknown[]): unknown; all(...parameters: unknown[]): unknown[] }
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { changes: number; lastInsertRowid: number | bigint }
  iterate(...parameters: unknown[]): IterableIterator<unknown>
}

/** A `Database` of better-sqlite3, or of libsql. */
export interface NativeSqliteClient {
  readonly open: boolean
  readonly inTransaction: boolean
  prepare(sql: string): NativeStatement
  close(): unknown
}

/** A `Database` of libsql. */
export interface LibsqlDatabase extends NativeSqliteClient {
  exec(sql: string): unknown
  sync(): unknown
}

/** A statement of `node:sqlite`. */
interface NodeStatement {
  columns(): readonly unknown[]
  setReturnArrays(enabled: boolean): void
  get(...parameters: unknown[]): unknown
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  iterate(...parameters: unknown[]): Iterable<unknown>
}

/** A `DatabaseSync` of `node:sqlite`. */
export interface NodeSqliteClient {
  readonly isOpen: boolean
  readonly isTransaction: boolean
  prepare(sql: string): NodeStatement
  close(): void
}

/** A statement of `bun:sqlite`. */
interface BunStatement {
  readonly columnNames: readonly string[]
  values(...parameters: unknown[]): unknown[][]
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { changes: number; lastInsertRowid: number | bigint }
  iterate(...parameters: unknown[]): Iterable<unknown>
}

/** A `Database` of `bun:sqlite`. */
export interface BunSqliteClient {
  readonly filename: string
  readonly inTransaction: boolean
  prepare(sql: string): BunStatement
  close(): void
}

/** A value that drivers can bind. */
export type SqliteValue = string | number | bigint | Uint8Array | null

interface LibsqlStatement {
  sql: string
  args: SqliteValue[]
}

export interface LibsqlResult {
  readonly rows: readonly { readonly length: number; readonly [index: number]: unknown }[]
  readonly columns: readonly string[]
  readonly rowsAffected: number
  readonly lastInsertRowid?: bigint | undefined
}

export interface LibsqlTransaction {
  readonly closed: boolean
  execute(statement: LibsqlStatement): Promise<LibsqlResult>
  executeMultiple(sql: string): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  close(): void
}

/** A client of `@libsql/client`, for a local file or a server. */
export interface LibsqlClient {
  readonly protocol: string
  execute(statement: LibsqlStatement): Promise<LibsqlResult>
  transaction(mode: 'write' | 'deferred'): Promise<LibsqlTransaction>
}

/** A database of Cloudflare D1. It has no interactive transactions, so it only reads. */
export interface D1Client {
  prepare(sql: string): {
    bind(...parameters: unknown[]): { raw(): Promise<unknown[][]>; all(): Promise<{ results: unknown[] }> }
  }
  batch(statements: never[]): Promise<unknown>
}

/** A synchronous client: better-sqlite3, libsql, `node:sqlite`, or `bun:sqlite`. */
export type SyncSqliteClient = NativeSqliteClient | LibsqlDatabase | NodeSqliteClient | BunSqliteClient

/** A client of the app: better-sqlite3, libsql, `node:sqlite`, `bun:sqlite`, or `@libsql/client`. */
export type SqliteClient = SyncSqliteClient | LibsqlClient

/** Where a database is: a URL for better-sqlite3, or the app's own client, which we never close. */
export type SqliteSource<Client = SqliteClient> = string | { readonly client: Client }
