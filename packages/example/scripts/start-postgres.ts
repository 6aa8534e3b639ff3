import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { PASSWORD, postgresCluster, USER } from '../../core/test/support/postgres-cluster.ts'

const DATABASE = 'sallyport'
const directory = process.env.POSTGRES_DIRECTORY ?? defaultDirectory()
await rejectSecondServer()

// The same port at every start keeps the DATABASE_URL of another node valid.
const port = await freePort(54_329)
// Only for this machine, because the password is public.
const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '' }
const cluster = postgresCluster({ directory, port, settings })
if (!existsSync(join(directory, 'PG_VERSION'))) await cluster.initialise()
await cluster.start()
process.once('beforeExit', () => cluster.stop('SIGINT'))
stopWithThisProcess()
await createDatabase()

process.env.DATABASE_URL = urlOn(port)
console.log(`PostgreSQL   ${process.env.DATABASE_URL}\nSecond node  ${secondNode(port)}\n`)
await import('../src/server.ts')

/** If started by root, PostgreSQL runs as another user, who needs access to its directory. */
function defaultDirectory(): string {
  const example = fileURLToPath(new URL('..', import.meta.url))
  if (process.getuid?.() !== 0) return join(example, 'data/postgres')
  const clone = createHash('sha256').update(example).digest('hex').slice(0, 8)
  return join(tmpdir(), `sallyport-example-postgres-${clone}`)
}

function urlOn(port: number): string {
  return `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${DATABASE}`
}

function secondNode(port: number): string {
  const baseUrl = process.env.BASE_URL ?? `http://localhost:${process.env.PORT ?? 3000}`
  return `DATABASE_URL=${urlOn(port)} BASE_URL=${baseUrl} PORT=3002 npx -y pnpm start`
}

/** Stops if a server already uses the directory. */
async function rejectSecondServer(): Promise<void> {
  const file = join(directory, 'postmaster.pid')
  if (!existsSync(file)) return
  const port = Number(readFileSync(file, 'utf8').split('\n')[3])
  const client = new Client(urlOn(port))
  try {
    await client.connect()
  } catch {
    // A crashed server left the file. The next start removes it.
    return
  }
  await client.end()
  console.error(`PostgreSQL already runs in ${directory}. Start another node on it:\n${secondNode(port)}`)
  process.exit(1)
}

/** Stops PostgreSQL also after `kill -9`, which runs no handlers. */
function stopWithThisProcess(): void {
  if (process.platform === 'win32') return
  const script = `trap '' INT TERM HUP; cat >/dev/null; kill -INT "$(head -n 1 "$0/postmaster.pid")" 2>/dev/null`
  spawn('sh', ['-c', script, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true }).unref()
}

async function createDatabase(): Promise<void> {
  const client = new Client(`postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`)
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE}`)
  } finally {
    await client.end()
  }
}

/** Returns the wanted port, or any free one if it is taken. */
function freePort(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', (error) => {
      if (wanted === 0) reject(error)
      else resolve(freePort(0))
    })
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
