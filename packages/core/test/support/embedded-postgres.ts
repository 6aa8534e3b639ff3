import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { CLUSTER_VERSION, PASSWORD, type PostgresCluster, postgresCluster, USER } from './postgres-cluster.ts'

/** A PostgreSQL server of its own, in a temporary directory. */
export interface PostgresServer {
  readonly port: number
  /** Of a database that exists. The user is a superuser. */
  urlOf(database: string): string
  /** Makes an empty database: its URL. */
  createDatabase(name: string): Promise<string>
  /** Ends the server at once, as a power failure would (immediate shutdown). */
  crash(): Promise<void>
  /** Starts it again on the same data. */
  start(): Promise<void>
  /** {@link crash} and {@link start}. */
  restart(): Promise<void>
  /** Ends the server and removes its directory. */
  stop(): Promise<void>
}

/** Below the ports that systems give away by themselves, so that nobody takes it while the server is down. */
const [FIRST_PORT, PORTS] = [20_000, 12_000]

/** Ends the server, whose process id it reads, and removes its directory should this process be killed: its input ends with us. */
const GUARD =
  'while read -r pid; do server=$pid; done; kill -QUIT "$server" 2>/dev/null; sleep 0.5; rm -rf "$0"'

/**
 * Starts a real PostgreSQL 18.
 *
 * @param settings of `postgresql.conf`, added to those of the tests
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
      // A crash of the server alone loses nothing by that.
      fsync: 'off',
      ...settings,
    },
  })
  const guard = spawn('sh', ['-c', GUARD, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.stdin?.on('error', () => {})

  const urlOf = (database: string) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`

  const crash = () => cluster.stop('SIGQUIT')
  const start = async () => void guard.stdin?.write(`${await cluster.start()}\n`)

  async function stop(): Promise<void> {
    await crash()
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
      const client = new pg.Client(urlOf('postgres'))
      await client.connect()
      try {
        await client.query(`create database ${client.escapeIdentifier(name)}`)
      } finally {
        await client.end()
      }
      return urlOf(name)
    },
    crash,
    start,
    async restart() {
      await crash()
      await start()
    },
    stop,
  }
}

/** Fills a data directory. What `initdb` makes is the same every time, so it makes it once and the others are copies. */
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
    // Another process has just made it.
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** With the owners and permissions of the files. */
const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', `${from}/.`, to])

function templateDirectory(): string {
  const name = `postgres-${createHash('sha256').update(CLUSTER_VERSION).digest('hex').slice(0, 16)}`
  return join(fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url)), name)
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
    const probe = createServer()
    try {
      await once(probe.listen(port, '127.0.0.1'), 'listening')
      return port
    } catch {
      // Somebody has it.
    } finally {
      probe.close()
    }
  }
}
