import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  IdentifierNode,
  PostgresDriver as KyselyDriver,
  PostgresAdapter,
  PostgresDialect,
  PostgresQueryCompiler,
  type QueryResult,
  type SchemableIdentifierNode,
  type TransactionSettings,
} from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { INTERNAL_SCHEMA } from '../schema/internal-tables.ts'
import type { PostgresDriver, ReservedConnection } from './drivers/driver.ts'
import { orUnavailable } from './drivers/errors.ts'

/**
 * Creates the Kysely dialect for a driver. Errors of a connection become `SESSIONS_UNAVAILABLE`.
 * @param options.schema the schema of our internal tables
 */
export function postgresDialect(driver: PostgresDriver, options: { schema: string }): Dialect {
  return Object.assign(new PostgresDialect(NO_POOL), {
    createAdapter: () => new DialectAdapter(),
    createDriver: () => new DialectDriver(driver),
    createQueryCompiler: () => new SchemaCompiler(options.schema),
  })
}

/** Replaces the schema in the Kysely names of our internal tables by the configured one. */
class SchemaCompiler extends PostgresQueryCompiler {
  readonly #schema: IdentifierNode

  constructor(schema: string) {
    super()
    this.#schema = IdentifierNode.create(schema)
  }

  protected override visitSchemableIdentifier(node: SchemableIdentifierNode): void {
    const isInternal = node.schema?.name === INTERNAL_SCHEMA
    super.visitSchemableIdentifier(isInternal ? { ...node, schema: this.#schema } : node)
  }
}

/** Without Kysely's lock of a session: a pool could release it on another connection, and keep it forever. */
class DialectAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

/** Kysely's own driver needs a pool of the package `pg`. Ours overrides what uses it. */
const NO_POOL = { pool: () => Promise.reject(new Error('not used')) }

class DialectDriver extends KyselyDriver {
  readonly #driver: PostgresDriver
  readonly #reserved = new WeakMap<DatabaseConnection, ReservedConnection>()

  constructor(driver: PostgresDriver) {
    super(NO_POOL)
    this.#driver = driver
  }

  override async init(): Promise<void> {}

  override async acquireConnection(): Promise<DatabaseConnection> {
    const { connect } = this.#driver
    const reserved =
      connect === undefined ? withoutTransactions(this.#driver) : await orUnavailable(connect())
    const connection: DatabaseConnection = {
      async executeQuery<Row>({ sql: text, parameters: values }: CompiledQuery): Promise<QueryResult<Row>> {
        const { command, rowCount, rows } = await orUnavailable(reserved.query<Row>({ text, values }))
        // Kysely compares the command, since PostgreSQL ends an aborted transaction with `ROLLBACK`.
        if (command === 'COMMIT' || command === 'ROLLBACK') return { rows: [{ command } as Row] }
        const isWrite = /^(INSERT|UPDATE|DELETE|MERGE)$/.test(command)
        return isWrite ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows }
      },
      // biome-ignore lint/correctness/useYield: Kysely requires it.
      async *streamQuery() {
        throw new ConfigurationError("Rows can't be streamed. Execute the query instead.")
      },
    }
    this.#reserved.set(connection, reserved)
    return connection
  }

  /**
   * By default, sets `read committed`. With a stricter default of the server, a read after a lock would
   * return rows as they were before the lock.
   */
  override beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const { isolationLevel = 'read committed' } = settings
    return super.beginTransaction(connection, { ...settings, isolationLevel })
  }

  /**
   * Kysely would throw the error of the rollback instead of that of the transaction. If the rollback fails,
   * the transaction is still open, so the driver closes the connection.
   */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback')).catch(() => {})
  }

  override async releaseConnection(connection: DatabaseConnection): Promise<void> {
    this.#reserved.get(connection)?.release()
  }

  override async destroy(): Promise<void> {}
}

function withoutTransactions({ query }: PostgresDriver): ReservedConnection {
  return {
    async query(statement) {
      if (/^(begin|start transaction)\b/.test(statement.text))
        throw new ConfigurationError('Transactions are not possible over HTTP. Pass a Pool instead.')
      return query(statement)
    },
    release() {},
  }
}
