import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { ConfigurationError } from '../../protocol/errors.ts'
import { nodeVersionFault } from '../../protocol/node-version.ts'

/**
 * The path of a database that is about to be opened.
 *
 * @throws ConfigurationError when the URL names no SQLite file, or Node is too old for the driver
 */
export function toPath(url: string): string {
  const fault = nodeVersionFault()
  if (fault !== null) throw new ConfigurationError(fault)
  const path = url.replace(/^file:(\/\/)?/, '')
  if (path === '' || /^[a-z]+:\/\//i.test(path)) {
    throw new ConfigurationError(
      'A SQLite database URL looks like file:data/app.db or :memory:; postgres:// is for openPostgres',
    )
  }
  return path
}

/** The connection that writes; a file that is not there is made. */
export function openWriter(path: string): Database.Database {
  const isNew = path !== ':memory:' && !existsSync(path)
  if (isNew) {
    mkdirSync(dirname(path), { recursive: true })
    // Made before the driver opens it, so that it is never readable by others.
    closeSync(openSync(path, 'a', 0o600))
  }
  // The write queue waits instead: the driver's own waiting would stop the event loop.
  return new Database(path, { timeout: 0 })
}

/** The connection that counts attempts. Its writes need not survive a power failure, so they do not wait for the disk. */
export function openCounter(path: string): Database.Database {
  const counter = new Database(path, { timeout: 0 })
  counter.pragma('synchronous = NORMAL')
  return counter
}

/** Tried again while the file is busy: of several processes that start on a new file, SQLite lets one switch it to WAL. */
export async function configure(writer: Database.Database, busyTimeoutMs: number): Promise<void> {
  const givenUpAt = performance.now() + busyTimeoutMs
  for (;;) {
    try {
      writer.pragma('journal_mode = WAL')
      writer.pragma('synchronous = FULL')
      writer.pragma('foreign_keys = ON')
      return
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
      if (!isBusy || performance.now() >= givenUpAt) throw error
    }
    await sleep(10)
  }
}
