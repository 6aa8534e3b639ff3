import type { DatabaseConnection, Dialect, QueryResult } from 'kysely'
import type { LibsqlResult, LibsqlTransaction } from './connections/client.ts'
import type { RetryWhileBusy } from './connections/errors.ts'
import type { LibsqlStatements } from './connections/libsql-statements.ts'
import { encode, writeQueueDialect } from './write-queue.ts'

/** Creates the Kysely dialect of `@libsql/client`. Like the others, it has one queue for writes. */
export function libsqlWriteQueue(statements: LibsqlStatements, retryWhileBusy: RetryWhileBusy): Dialect {
  let transaction: LibsqlTransaction | undefined

  const connection: DatabaseConnection = {
    async executeQuery<Row>(query: Parameters<DatabaseConnection['executeQuery']>[0]) {
      const { sql, parameters } = encode(query)
      const execute = () => statements.execute(sql, parameters, transaction)
      return toQueryResult<Row>(await retryWhileBusy(execute, sql))
    },
    async *streamQuery<Row>(query: Parameters<DatabaseConnection['streamQuery']>[0]) {
      yield await connection.executeQuery<Row>(query)
    },
  }

  async function end(how: (ending: LibsqlTransaction) => Promise<void>): Promise<void> {
    const ending = transaction
    transaction = undefined
    if (ending === undefined) return
    try {
      await retryWhileBusy(() => how(ending))
    } finally {
      ending.close()
    }
  }

  return writeQueueDialect(() => ({
    async init() {},
    acquireConnection: async () => connection,
    async beginTransaction() {
      transaction = await retryWhileBusy(statements.begin)
    },
    commitTransaction: () => end(statements.commit),
    rollbackTransaction: () =>
      end(async (ending) => {
        // After some errors, such as a full disk, SQLite has rolled back.
        if (!ending.closed) await ending.rollback()
      }),
    async releaseConnection() {},
    async destroy() {},
  }))
}

function toQueryResult<Row>({ rows, rowsAffected, lastInsertRowid }: LibsqlResult): QueryResult<Row> {
  return {
    rows: rows.map((row) => ({ ...row }) as Row),
    numAffectedRows: BigInt(rowsAffected),
    ...(lastInsertRowid !== undefined && { insertId: lastInsertRowid }),
  }
}
