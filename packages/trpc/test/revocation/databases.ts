import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../../core/test/support/embedded-postgres.ts'
import { openSqlHand } from '../../../core/test/support/run-sql.ts'
import type { OnCleanup } from './cleanup.ts'
import { openDatabase } from './open-database.ts'

/** A database for several nodes. */
export interface SharedDatabase {
  readonly url: string
  /** Deletes a session's row with plain SQL, on a connection that belongs to no node. */
  deleteSession(sessionId: string): Promise<void>
}

async function shareSqlite(onCleanup: OnCleanup): Promise<SharedDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  onCleanup(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'app.db')
  // Creates the tables.
  await (await openDatabase(`file:${path}`)).close()
  const hand = await openSqlHand(path)
  onCleanup(hand.close)
  return {
    url: `file:${path}`,
    deleteSession: (sessionId) => hand.run('delete from session where id = ?', sessionId),
  }
}

/** A database on a separate PostgreSQL server. */
export interface SharedPostgres extends SharedDatabase {
  readonly server: PostgresServer
  /** Runs a statement on a connection that belongs to no node. */
  query(sql: string, values?: unknown[]): Promise<pg.QueryResult>
}

/** Starts a PostgreSQL server for one database. */
export async function sharePostgres(onCleanup: OnCleanup): Promise<SharedPostgres> {
  const server = await startPostgres()
  onCleanup(server.stop)
  const url = await server.createDatabase('app')
  const hand = new pg.Pool({ connectionString: url, max: 2 })
  // Tests may kill the server.
  hand.on('error', () => {})
  onCleanup(() => hand.end())
  return {
    url,
    server,
    query: (sql, values) => hand.query(sql, values),
    async deleteSession(sessionId) {
      await hand.query('delete from session where id = $1', [sessionId])
    },
  }
}

/** The databases that several nodes can share. */
export const DATABASES: readonly {
  engine: string
  share: (onCleanup: OnCleanup) => Promise<SharedDatabase>
}[] = [
  { engine: 'SQLite', share: shareSqlite },
  { engine: 'PostgreSQL', share: sharePostgres },
]
