import type { SqliteStatement } from 'kysely'
import type { LibsqlDatabase } from './client.ts'
import type { SqliteConnection } from './connection.ts'

/**
 * Adapts a `Database` of libsql. A prepared write that fails because of a lock stays active until it is
 * garbage, and until then no transaction of its connection can commit. So writes take the lock with `exec`.
 */
export function libsqlConnection(client: LibsqlDatabase): SqliteConnection {
  function withLock<Result>(write: () => Result): Result {
    if (client.inTransaction) return write()
    client.exec('begin immediate')
    try {
      const result = write()
      client.exec('commit')
      return result
    } finally {
      if (client.inTransaction) client.exec('rollback')
    }
  }

  return {
    get isOpen() {
      return client.open
    },
    get inTransaction() {
      return client.inTransaction
    },
    prepare(sql) {
      if (/^\s*(begin|commit|rollback)\b/i.test(sql)) return execStatement(() => client.exec(sql))
      const statement = client.prepare(sql)
      if (/^\s*(select|with|pragma)\b/i.test(sql)) return statement
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
      const all = (...parameters: string[]) => statement.all(...parameters) as Values[]
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
