import { writeFileSync } from 'node:fs'
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

/** In a process that the calls share. */
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
  'invitations 0001_invitation',
  'invitations 0002_nickname',
]

/** What a call prints that applies migrations. */
const applied = (...names: readonly string[]): Run => ({
  code: 0,
  stdout: [...names.map((name) => `applied ${name}\n`), `${names.length} applied\n`].join(''),
  stderr: '',
})
const UP_TO_DATE: Run = { code: 0, stdout: 'up to date\n', stderr: '' }

describe('sallyport migrate --auth', () => {
  test('creates the tables and columns of core and of every plugin, and the second time has nothing to do', async ({
    expect,
  }) => {
    const url = newDatabase()
    expect(await migrateAlone('-d', url, '--auth', AUTH_DEFINITION)).toEqual(
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

  test('leaves the plugins alone where it is not given, and adds them later', async ({ expect }) => {
    const url = newDatabase()
    expect(await migrate('-d', url)).toEqual(applied(...OF_CORE))
    expect(await tablesOf(url)).not.toContain('verification')
    expect(await migrate('-d', url, '--auth', AUTH_DEFINITION)).toEqual(applied(...OF_PLUGINS))
  })

  test('takes a path from where it is called', async ({ expect }) => {
    const path = moduleOf('export default { plugins: [] }')
    const url = newDatabase()
    expect(await migrate('-d', url, '--auth', path.slice(directory.length + 1))).toEqual(applied(...OF_CORE))
  })

  test('fails with 2 when the path is left out', async ({ expect }) => {
    const { code, stdout, stderr } = await migrate('-d', newDatabase(), '--auth')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain("option '--auth <path>' argument missing")
  })
})
