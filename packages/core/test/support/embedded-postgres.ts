import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { CLUSTER_VERSION, PASSWORD, type PostgresCluster, postgresCluster, USER } from './postgres-cluster.ts'

/** A PostgreSQL server in a temporary directory. */
export interface PostgresServer {
  readonly port: number
  /** Returns the URL of an existing database. The user is a superuser. */
  urlOf(database: string): string
  /** Creates an empty database and returns its URL. */
  createDatabase(name: string): Promise<string>
  /** Stops the server at once, like a power failure (immediate shutdown). */
  crash(): Promise<void>
  /** Starts it again on the same data. */
  start(): Promise<void>
  /** Stops the server and removes its directory. */
  stop(): Promise<void>
}

/**
 * A shell script that reads the server's process id. Its input ends when this process is killed. Then it
 * stops the server and removes the directory.
 */
const GUARD =
  'while read -r pid; do server=$pid; done; kill -QUIT "$server" 2>/dev/null; sleep 0.5; rm -rf "$0"'

/**
 * Starts a real PostgreSQL 18.
 *
 * @param settings added to the tests' `postgresql.conf`
 */
export async function startPostgres(settings?: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-postgres-'))
  const port = await freePort()
  const cluster = postgresCluster({
    directory,
    port,
    settings: {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      // A crash of the server alone loses no data with these settings.
      fsync: 'off',
      // Files that share a server keep their connections until they end.
      max_connections: '400',
      ...settings,
    },
  })
  const guard = spawn('sh', ['-c', GUARD, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.stdin?.on('error', () => {})

  const urlOf = (database: string) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`

  // One connection, replaced after the server was down.
  const admin = new pg.Pool({ connectionString: urlOf('postgres'), max: 1, allowExitOnIdle: true })
  admin.on('error', () => {})

  const crash = () => cluster.stop('SIGQUIT')
  const start = async () => void guard.stdin?.write(`${await cluster.start()}\n`)

  async function stop(): Promise<void> {
    await crash()
    await admin.end()
    guard.kill()
    guard.stdin?.end()
    rmSync(directory, { recursive: true, force: true })
  }

  try {
    await initialise(cluster, directory)
    await start()
  } catch (error) {
    await stop()
    throw error
  }

  return {
    port,
    urlOf,
    async createDatabase(name) {
      // Copying files takes a third of the time of copying blocks through the log, the default.
      await admin.query(`create database ${pg.escapeIdentifier(name)} strategy file_copy`)
      return urlOf(name)
    },
    crash,
    start,
    stop,
  }
}

/**
 * Fills a data directory. `initdb` always creates the same files, so it runs once and later directories are
 * copies.
 */
async function initialise(cluster: PostgresCluster, directory: string): Promise<void> {
  const template = templateDirectory()
  if (existsSync(template)) {
    await copy(template, directory)
    return
  }
  await cluster.initialise()
  mkdirSync(join(template, '..'), { recursive: true })
  const unfinished = mkdtempSync(`${template}-`)
  try {
    await copy(directory, unfinished)
    renameSync(unfinished, template)
  } catch {
    // Another process has just created it.
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** Copies the owners and permissions of the files. */
const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', `${from}/.`, to])

function templateDirectory(): string {
  const name = `postgres-${createHash('sha256').update(CLUSTER_VERSION).digest('hex').slice(0, 16)}`
  return join(fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url)), name)
}
