import type { Statement } from './driver.ts'
import type { Column } from './values.ts'

interface PgResult {
  readonly rows: unknown[]
  readonly rowCount: number | null
  readonly command: string
  readonly fields: readonly Column[]
}

/** A connection of a {@link PgPool}. */
export interface PgConnection {
  query(statement: Omit<Statement, 'values'> & { values?: unknown[] }): Promise<PgResult>
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  once(event: 'end', listener: () => void): unknown
}

export interface PgPoolClient extends PgConnection {
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  removeListener(event: 'error', listener: (error: unknown) => void): unknown
  release(discard?: boolean): void
  /** Lets the process exit while the connection is open. */
  unref?(): void
  ref?(): void
}

/** A `Pool` of the package `pg`, or of `@neondatabase/serverless`. */
export interface PgPool {
  connect(): Promise<PgPoolClient>
  /** Waits until every connection was released. */
  end?(...args: never[]): unknown
  readonly totalCount: number
  readonly options?: { readonly max?: number | undefined }
}

type PostgresJsRows = PromiseLike<
  readonly unknown[] & {
    readonly count: number
    readonly command: string
    readonly columns?: readonly { readonly name: string; readonly type: number }[]
  }
>

export interface PostgresJsQueries {
  unsafe(
    text: string,
    values?: never[],
    options?: { prepare?: boolean },
  ): PostgresJsRows & { values(): PostgresJsRows; cancel(): unknown }
}

/** The `sql` function of the package `postgres`. */
export interface PostgresJs extends PostgresJsQueries {
  begin<Result>(mode: string, run: (transaction: PostgresJsQueries) => Promise<Result>): Promise<unknown>
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onListen?: () => void,
  ): PromiseLike<{ unlisten(): Promise<void> }>
}

export interface PGliteResult {
  readonly rows: unknown[]
  readonly affectedRows?: number
  /** Older versions don't report it. */
  readonly command?: string
  readonly fields: readonly Column[]
}

export interface PGliteQueries {
  query(text: string, values?: unknown[], options?: { rowMode?: 'array' | 'object' }): Promise<PGliteResult>
}

/** An instance of `PGlite`. */
export interface PGliteClient extends PGliteQueries {
  transaction<Result>(run: (transaction: PGliteQueries) => Promise<Result>): Promise<Result>
  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>>
}

/**
 * A client of PostgreSQL that the app already has: a `Pool` of `pg` or `@neondatabase/serverless`, the `sql`
 * of `postgres`, or a `PGlite`. It must reach the primary. It is never closed.
 */
export type PostgresClient = PgPool | PostgresJs | PGliteClient

/** The function that `neon()` returns. It sends each statement as an HTTP request, without transactions. */
export interface PostgresHttpClient {
  query(
    text: string,
    values?: unknown[],
    options?: { arrayMode?: boolean; fullResults?: true },
  ): PromiseLike<unknown>
  readonly transaction: (...queries: never[]) => unknown
}
