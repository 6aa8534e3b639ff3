import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../../core/test/support/embedded-postgres.ts'
import { openSqlHand } from '../../../core/test/support/run-sql.ts'
import type { AtEnd } from './at-end.ts'
import { openDatabase } from './open-database.ts'

/** A database for several nodes. */
export interface SharedDatabase {
  readonly url: string
  /** Deletes the row of a session by plain SQL, on a connection that no node knows of. */
  deleteSession(sessionId: string): Promise<void>
}

async function shareSqlite(atEnd: AtEnd): Promise<SharedDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  atEnd(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'app.db')
  // Makes the tables.
  await (await openDatabase(`file:${path}`)).close()
  const hand = await openSqlHand(path)
  atEnd(hand.close)
  return {
    url: `file:${path}`,
    deleteSession: (sessionId) => hand.run('delete from session where id = ?', sessionId),
  }
}

/** A database on a PostgreSQL server of its own. */
export interface SharedPostgres extends SharedDatabase {
  readonly server: PostgresServer
  /** Runs a statement on a connection that no node knows of. */
  query(sql: string, values?: unknown[]): Promise<pg.QueryResult>
}

/** Starts a PostgreSQL server for one database. */
export async function sharePostgres(atEnd: AtEnd): Promise<SharedPostgres> {
  const server = await startPostgres()
  atEnd(server.stop)
  const url = await server.createDatabase('app')
  const hand = new pg.Pool({ connectionString: url, max: 2 })
  // The server may be killed.
  hand.on('error', () => {})
  atEnd(() => hand.end())
  return {
    url,
    server,
    query: (sql, values) => hand.query(sql, values),
    async deleteSession(sessionId) {
      await hand.query('delete from session where id = $1', [sessionId])
    },
  }
}

/** Where several nodes can share one database. */
export const DATABASES: readonly { engine: string; share: (atEnd: AtEnd) => Promise<SharedDatabase> }[] = [
  { engine: 'SQLite', share: shareSqlite },
  { engine: 'PostgreSQL', share: sharePostgres },
]
