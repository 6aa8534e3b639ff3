import { AuthError } from '../../../protocol/errors.ts'
import type { LibsqlClient, LibsqlResult, LibsqlTransaction, SqliteValue } from './client.ts'
import { locksReaders, TAKE_READ_LOCK } from './libsql-connection.ts'

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

/** Adapts a client. In a file, `executeMultiple` takes the locks, for the same reason as `exec` of libsql. */
export function libsqlStatements(client: LibsqlClient): LibsqlStatements {
  const isRemote = client.protocol !== 'file'
  let isClosed = false
  let readsLock: boolean | undefined
  let lastRead: Promise<unknown> = Promise.resolve()
  let abandons: boolean | undefined
  /** Between reads, in a transaction without locks. */
  let kept: LibsqlTransaction | undefined

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

  async function isLocking(): Promise<boolean> {
    const [row] = (await client.execute({ sql: 'pragma journal_mode', args: [] })).rows
    return locksReaders(String(row?.[0]))
  }

  /** Reads once earlier reads have ended: if each held a connection, the app's statements could fail. */
  function readWithLock(statement: Parameters<LibsqlClient['execute']>[0]): Promise<LibsqlResult> {
    const reading = lastRead.then(async () => {
      const transaction = kept?.closed === false ? kept : await client.transaction('deferred')
      try {
        await transaction.executeMultiple(TAKE_READ_LOCK)
        return await transaction.execute(statement)
      } finally {
        await endRead(transaction)
      }
    })
    lastRead = reading.catch(() => {})
    return reading
  }

  /** Before 0.18, the client closes no connection that a transaction has used, so reads keep theirs. */
  async function endRead(transaction: LibsqlTransaction): Promise<void> {
    kept = abandons && !isClosed && !transaction.closed ? transaction : undefined
    if (kept !== undefined) return kept.executeMultiple('commit; begin')
    transaction.close()
    // Since 0.18, a transaction that is closed has no connection, so there is nothing to roll back.
    abandons ??= await transaction.rollback().then(
      () => false,
      () => true,
    )
  }

  return {
    isRemote,
    begin,
    commit,
    async execute(sql, parameters, transaction) {
      requireOpen()
      const statement = { sql, args: parameters as SqliteValue[] }
      const isPragma = /^\s*pragma\b/i.test(sql)
      if (transaction !== undefined && !(isPragma && transaction.closed))
        return transaction.execute(statement)
      // A full disk has ended it. The client uses its connection next, so the caller can restore settings.
      transaction?.close()
      if (isRemote || isPragma) return client.execute(statement)
      if (/^\s*(select|with)\b/i.test(sql)) {
        readsLock ??= await isLocking()
        return readsLock ? readWithLock(statement) : client.execute(statement)
      }
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
      kept?.close()
    },
  }
}
