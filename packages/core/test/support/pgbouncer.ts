import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { PostgresServer } from './embedded-postgres.ts'
import { freePort } from './free-port.ts'
import { PASSWORD, USER } from './postgres-cluster.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** The path of Debian's package. Null if it isn't installed. */
export const PGBOUNCER: string | null =
  ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'].find(existsSync) ?? null

/** Why tests with PgBouncer are skipped. */
export const NO_PGBOUNCER = 'PgBouncer is not installed. Run `apt-get install pgbouncer`.'

export type PoolMode = 'session' | 'transaction'

const MAX_START_MS = 55_000

/**
 * Starts PgBouncer in front of a server until the test ends, and returns a function for the URLs of its
 * databases. Apart from the mode, its settings are the defaults with those of `docs/databases.md`.
 */
export async function startPgBouncer(
  server: PostgresServer,
  mode: PoolMode,
): Promise<(database: string) => string> {
  if (PGBOUNCER === null) throw new Error(NO_PGBOUNCER)
  const directory = temporaryDirectory()
  const port = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${server.port} user=${USER} password=${PASSWORD}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
ignore_startup_parameters = statement_timeout,extra_float_digits
`,
  )
  // It refuses to run as root.
  chmodSync(directory, 0o755)
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const pooler = spawn(PGBOUNCER, [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => stop(pooler))
  let log = ''
  pooler.stderr?.on('data', (chunk) => {
    log += chunk
  })
  for (const since = Date.now(); !(await accepts(port)); await sleep(20))
    if (Date.now() - since > MAX_START_MS || pooler.exitCode !== null)
      throw new Error(`PgBouncer did not start: ${log}`)
  return (database) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`
}

async function stop(pooler: ChildProcess): Promise<void> {
  if (pooler.exitCode !== null) return
  const exited = once(pooler, 'exit')
  pooler.kill('SIGKILL')
  await exited
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
