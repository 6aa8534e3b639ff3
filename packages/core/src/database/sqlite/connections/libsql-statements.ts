import { AuthError } from '../../../protocol/errors.ts'
import type { LibsqlClient, LibsqlResult, LibsqlTransaction, SqliteValue } from './client.ts'

/** The statements and transactions of `@libsql/client`, each run once. */
export interface LibsqlStatements {
  /** Whether the database is on a server. */
  readonly isRemote: boolean
  execute(sql: string, parameters: readonly unknown[], transaction?: LibsqlTransaction): Promise<LibsqlResult>
  /** Begins a transaction that holds the write lock. */
  begin(): Promise<LibsqlTransaction>
  /** Commits a transaction. If another process reads the file, it may be tried again. */
  commit(transaction: LibsqlTransaction): Promise<void>
  /** Rejects later statements. The app's client stays open. */
  close(): void
}

/**
 * Adapts a client. In a file, a prepared write that fails because of a lock stays active until it is garbage,
 * and until then no transaction of its connection can commit. So `executeMultiple` takes the locks.
 */
export function libsqlStatements(client: LibsqlClient): LibsqlStatements {
  const isRemote = client.protocol !== 'file'
  let isClosed = false

  function requireOpen(): void {
    if (isClosed) throw new AuthError('SESSIONS_UNAVAILABLE', { cause: new Error('The client is not open') })
  }

  async function begin(): Promise<LibsqlTransaction> {
    requireOpen()
    const transaction = await client.transaction(isRemote ? 'write' : 'deferred')
    try {
      // On a server, the first statement takes the lock.
      if (isRemote) await transaction.execute({ sql: 'select 1', args: [] })
      else await transaction.executeMultiple('commit; begin immediate')
      return transaction
    } catch (error) {
      transaction.close()
      throw error
    }
  }

  async function commit(transaction: LibsqlTransaction): Promise<void> {
    if (isRemote) return transaction.commit()
    await transaction.executeMultiple('commit')
    transaction.close()
  }

  return {
    isRemote,
    begin,
    commit,
    async execute(sql, parameters, transaction) {
      requireOpen()
      const statement = { sql, args: parameters as SqliteValue[] }
      if (transaction !== undefined) return transaction.execute(statement)
      if (isRemote || /^\s*(select|with|pragma)\b/i.test(sql)) return client.execute(statement)
      const write = await begin()
      try {
        const result = await write.execute(statement)
        await commit(write)
        return result
      } finally {
        write.close()
      }
    },
    close() {
      isClosed = true
    },
  }
}
