import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { ConfigurationError, isAuthError } from '../../protocol/errors.ts'
import { nodeVersionFault } from '../../protocol/node-version.ts'
import { createBusyRetry } from './errors.ts'

/** Returns the path of a database URL. @throws ConfigurationError also if Node is too old for the driver */
export function toPath(url: string): string {
  const fault = nodeVersionFault()
  if (fault !== null) throw new ConfigurationError(fault)
  const path = url.replace(/^file:(\/\/)?/, '')
  // A URL in quotes or of another database isn't a path. Messages contain the path, and a URL has passwords.
  if (path !== '' && !path.includes('://')) return path
  throw new ConfigurationError(
    'The URL is not a SQLite URL. Write file:data/app.db or :memory:, or open postgres:// with openPostgres().',
  )
}

/** Opens the connection that writes, and creates a missing file. */
export function openWriter(path: string): Database.Database {
  if (path !== ':memory:' && !existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true })
    // Created before the driver opens it, so others can never read it.
    closeSync(openSync(path, 'a', 0o600))
  }
  // The write queue waits instead: the driver would block the event loop.
  return new Database(path, { timeout: 0 })
}

/** Opens the connection for rate limits. A power failure may lose attempts: they don't wait for the disk. */
export function openCounter(path: string): Database.Database {
  const counter = new Database(path, { timeout: 0 })
  counter.pragma('synchronous = NORMAL')
  return counter
}

/** Configures the writer. Retries while another process that opened the same new file switches it to WAL. */
export async function configure(writer: Database.Database, busyTimeoutMs: number): Promise<void> {
  try {
    await createBusyRetry(busyTimeoutMs)(async () => {
      writer.pragma('journal_mode = WAL')
      writer.pragma('synchronous = FULL')
      writer.pragma('foreign_keys = ON')
    })
  } catch (error) {
    // While a program starts, the driver's error says more than a 503.
    throw isAuthError(error) ? error.cause : error
  }
}
