import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite, type SqliteAuthDatabase } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import pg from 'pg'
import { fillPostgres, fillSqlite } from '../../../core/bench/many-sessions.ts'
import type { startPostgres } from '../../../core/test/support/embedded-postgres.ts'

/** A new database with sessions. */
export interface Filled {
  readonly database: SqliteAuthDatabase<unknown>
  /** Ends all sessions, as another program does. */
  revokeAll(): Promise<unknown>
  close(): Promise<void>
}

export async function fillNewSqlite(sessions: number): Promise<Filled> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const path = join(directory, 'bench.db')
  const database = await openSqlite(path)
  fillSqlite(path, sessions)
  const other = new Database(path)
  return {
    database,
    revokeAll: async () => other.exec('delete from session'),
    async close() {
      other.close()
      await database.close()
      rmSync(directory, { recursive: true })
    },
  }
}

let databases = 0

export async function fillNewPostgres(
  server: Awaited<ReturnType<typeof startPostgres>>,
  sessions: number,
): Promise<Filled> {
  const url = await server.createDatabase(`streams_${databases++}`)
  const database = await openPostgres(url)
  const client = new pg.Client(url)
  await client.connect()
  await fillPostgres(client, sessions)
  return {
    database,
    revokeAll: () => client.query('truncate session'),
    async close() {
      await client.end()
      await database.close()
    },
  }
}
