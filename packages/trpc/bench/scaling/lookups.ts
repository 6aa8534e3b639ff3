import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import pg from 'pg'
import type { Chart, Panel } from '../../../../bench/draw-chart.ts'
import { bareLookup, fillPostgres, fillSqlite } from '../../../core/bench/many-sessions.ts'
import { sessionSql } from '../../../core/src/database/find-session-sql.ts'
import { lookupStatement } from '../../../core/src/database/sqlite/find-session.ts'
import { startPostgres } from '../../../core/test/support/embedded-postgres.ts'
import { processorMs } from '../watch-turns.ts'
import { compareSizes, type Sized } from './compare-sizes.ts'
import { calculatePages, type Measured, measurePages } from './pages.ts'
import { powers } from './powers.ts'

/** PostgreSQL would take minutes to write more. */
const MAX_IN_POSTGRES = 1e6

/** Measures Step 2's lookup in databases of 1,000 sessions and more. */
export async function measureLookups(max: number): Promise<Chart> {
  const sizes = powers(10, { from: 1_000, to: max })
  const panels = [await onSqlite(sizes), await onPostgres(sizes.filter((size) => size <= MAX_IN_POSTGRES))]
  return { title: 'Time of a lookup, relative to 1,000 sessions', panels }
}

async function onSqlite(sizes: readonly number[]): Promise<Panel> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const databases: Sized[] = []
  for (const sessions of sizes) {
    const path = join(directory, `${sessions}.db`)
    await (await openSqlite(path)).close()
    fillSqlite(path, sessions)
    const store = await openSqlite(path)
    const reader = new Database(path, { readonly: true })
    const statement = reader.prepare(lookupStatement(sessionSql('sqlite'))).raw()
    databases.push({
      sessions,
      bare: ({ sessionId, userId }) => statement.get(sessionId, userId),
      step2: store.sessions.findSession,
      async close() {
        reader.close()
        await store.close()
      },
    })
  }
  const panel = await compareSizes('SQLite', { databases, clock: processorMs })
  for (const { close } of databases) await close()
  rmSync(directory, { recursive: true })
  return panel
}

async function onPostgres(sizes: readonly number[]): Promise<Panel> {
  const server = await startPostgres()
  const databases: Sized[] = []
  const measured: Measured[] = []
  for (const sessions of sizes) {
    const url = await server.createDatabase(`sessions_${sessions}`)
    const store = await openPostgres(url)
    const client = new pg.Client(url)
    await client.connect()
    await fillPostgres(client, sessions)
    measured.push(await measurePages(client, sessions))
    databases.push({
      sessions,
      bare: bareLookup(client),
      step2: store.sessions.findSession,
      async close() {
        await client.end()
        await store.close()
      },
    })
  }
  const panel = await compareSizes('PostgreSQL', { databases, clock: () => performance.now() })
  for (const { close } of databases) await close()
  await server.stop()
  calculatePages(measured)
  return panel
}
