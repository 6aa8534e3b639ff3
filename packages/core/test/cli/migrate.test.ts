import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import { sql } from 'kysely'
import { afterAll, describe, test as sequential } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { AUTH_DEFINITION, type Run, runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const test = sequential.concurrent

const directory = temporaryDirectory()
const newDatabase = () => `file:${join(directory, crypto.randomUUID())}.db`

const host = hostSallyport()
afterAll(host.stop)

/** Runs in a process that the calls share. */
const migrate = (...args: readonly string[]): Promise<Run> =>
  host.run(['migrate', ...args], { cwd: directory })
const migrateAlone = (...args: readonly string[]): Promise<Run> =>
  runSallyport(['migrate', ...args], { cwd: directory })

/** Writes a module for `--auth` and returns its path. */
function moduleOf(source: string): string {
  const path = join(directory, `${crypto.randomUUID()}.mjs`)
  writeFileSync(path, source)
  return path
}

async function tablesOf(url: string): Promise<string[]> {
  const { db, close } = await openSqlite(url)
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(
    db,
  )
  await close()
  return rows.map(({ name }) => name)
}

const OF_CORE = ['0001_tables']
const OF_PLUGINS = [
  'email-password 0001_verification',
  'email-password 0002_known_device',
  'email-password 0003_verification_email',
  'email-password 0004_username',
  'invitations 0001_invitation',
  'invitations 0002_nickname',
]

/** Returns the output of a call that applies migrations. */
const applied = (...names: readonly string[]): Run => ({
  code: 0,
  stdout: [...names.map((name) => `applied ${name}\n`), `${names.length} applied\n`].join(''),
  stderr: '',
})
const UP_TO_DATE: Run = { code: 0, stdout: 'up to date\n', stderr: '' }

test('a missing file is created with --create only', async ({ expect }) => {
  const url = newDatabase()
  const path = url.slice('file:'.length)
  expect(await migrate('-d', url)).toEqual({
    code: 1,
    stdout: '',
    stderr: `Database ${path} not found. Check the path, or pass --create to create it.\n`,
  })
  expect(existsSync(path)).toBe(false)
  expect(await migrate('-d', url, '--create')).toEqual(applied(...OF_CORE))
  expect(await migrate('-d', url)).toEqual(UP_TO_DATE)
})

test.for([
  '"file:data/app.db"',
  "'file:data/app.db'",
  'file:"data/app.db"',
  'file:data/app.db?connection_limit=1',
  'sqlite:data/app.db',
])('the URL %j is rejected, and becomes no file', async (url, { expect }) => {
  const cwd = join(directory, crypto.randomUUID())
  mkdirSync(cwd)
  const { code, stderr } = await host.run(['migrate', '--create'], { cwd, env: { DATABASE_URL: url } })
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('not a SQLite URL') })
  expect(readdirSync(cwd)).toEqual([])
})

test.for([
  '"postgres://user:secret@127.0.0.1:1/app"',
  ' postgres://user:secret@127.0.0.1:1/app',
  'postgresql+driver://user:secret@127.0.0.1:1/app',
  'jdbc:postgresql://127.0.0.1:1/app?password=secret',
  'postgres://user:secret@127.0.0.1:1/app',
])('the password of the URL %j is never printed, and names no file', async (url, { expect }) => {
  for (const options of [[], ['--create']]) {
    const { code, stdout, stderr } = await host.run(['migrate', ...options], {
      cwd: directory,
      env: { DATABASE_URL: url },
    })
    expect(code).toBe(1)
    expect(stdout + stderr).not.toContain('secret')
  }
  expect(readdirSync(directory).filter((name) => /postgres/.test(name))).toEqual([])
})

describe('sallyport migrate --auth', () => {
  test('creates the tables and columns of core and every plugin once, then has nothing to do', async ({
    expect,
  }) => {
    const url = newDatabase()
    expect(await migrateAlone('-d', url, '--create', '--auth', AUTH_DEFINITION)).toEqual(
      applied(...OF_CORE, ...OF_PLUGINS),
    )
    expect(await migrate('-d', url, '--auth', AUTH_DEFINITION)).toEqual(UP_TO_DATE)
    expect(await migrate('-d', url)).toEqual(UP_TO_DATE)
    expect(await tablesOf(url)).toEqual(
      expect.arrayContaining(['session', 'verification', 'knownDevice', 'invitation']),
    )
    const { db, close } = await openSqlite(url)
    await sql`select nickname from user`.execute(db)
    await close()
  })

  test('skips plugins without --auth, and adds them later', async ({ expect }) => {
    const url = newDatabase()
    expect(await migrate('-d', url, '--create')).toEqual(applied(...OF_CORE))
    expect(await tablesOf(url)).not.toContain('verification')
    expect(await migrate('-d', url, '--auth', AUTH_DEFINITION)).toEqual(applied(...OF_PLUGINS))
  })

  test('resolves a relative path against the working directory', async ({ expect }) => {
    const path = moduleOf('export default { plugins: [] }')
    const url = newDatabase()
    expect(await migrate('-d', url, '--create', '--auth', path.slice(directory.length + 1))).toEqual(
      applied(...OF_CORE),
    )
  })

  test('exits with 2 without a path', async ({ expect }) => {
    const { code, stdout, stderr } = await migrate('-d', newDatabase(), '--auth')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain("option '--auth <path>' argument missing")
  })
})
