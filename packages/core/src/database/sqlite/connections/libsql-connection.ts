import type { SqliteStatement } from 'kysely'
import type { LibsqlDatabase } from './client.ts'
import type { SqliteConnection } from './connection.ts'

/** Takes the read lock of a transaction, which `begin` leaves to the first statement. */
export const TAKE_READ_LOCK = 'select 1 from sqlite_schema limit 1'

/**
 * Returns whether readers and writers lock each other out. Other processes can't change the mode from WAL
 * while a connection is open. A database in memory has no locks.
 */
export const locksReaders = (journalMode: string): boolean => !/^(wal|memory)$/.test(journalMode)

/**
 * Adapts a `Database` of libsql. A prepared statement that fails because of a lock stays active until it is
 * garbage. Until then, no transaction of its connection can commit, and each read keeps its lock, so no other
 * process can write. So `exec` takes the locks.
 */
export function libsqlConnection(client: LibsqlDatabase): SqliteConnection {
  let readsLock: boolean | undefined

  function inTransaction<Result>(begin: string, work: () => Result): Result {
    if (client.inTransaction) return work()
    try {
      client.exec(begin)
      const result = work()
      client.exec('commit')
      return result
    } finally {
      if (client.inTransaction) client.exec('rollback')
    }
  }

  function isLocking(): boolean {
    readsLock ??= locksReaders(String(client.prepare('pragma journal_mode').raw().all()))
    return readsLock
  }

  const read = <Result>(work: () => Result): Result =>
    isLocking() ? inTransaction(`begin; ${TAKE_READ_LOCK}`, work) : work()
  const write = <Result>(work: () => Result): Result => inTransaction('begin immediate', work)

  return {
    get inTransaction() {
      return client.inTransaction
    },
    prepare(sql) {
      if (sql === 'begin' && isLocking()) return execStatement(() => client.exec(`begin; ${TAKE_READ_LOCK}`))
      if (/^\s*(begin|commit|rollback)\b/i.test(sql)) return execStatement(() => client.exec(sql))
      const statement = client.prepare(sql)
      // Transactions disable some pragmas.
      if (/^\s*pragma\b/i.test(sql)) return statement
      const isRead = /^\s*(select|with)\b/i.test(sql)
      if (isRead && !isLocking()) return statement
      const withLock = isRead ? read : write
      return {
        reader: statement.reader,
        all: (parameters) => withLock(() => statement.all(parameters)),
        run: (parameters) => withLock(() => statement.run(parameters)),
        iterate: (parameters) => withLock(() => statement.all(parameters))[Symbol.iterator](),
      }
    },
    prepareRow<Values>(sql: string) {
      const statement = client.prepare(sql).raw()
      // After `get`, libsql keeps the read transaction open.
      const all = (...parameters: string[]) => read(() => statement.all(...parameters)) as Values[]
      return { all, get: (...parameters: string[]): Values | undefined => all(...parameters)[0] }
    },
    close: () => void client.close(),
  }
}

function execStatement(exec: () => unknown): SqliteStatement {
  return {
    reader: false,
    all: () => [],
    run() {
      exec()
      return { changes: 0, lastInsertRowid: 0 }
    },
    iterate: () => [][Symbol.iterator](),
  }
}
