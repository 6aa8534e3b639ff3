import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgres } from '@sallyport/core/postgres'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { databaseKinds } from '../../support/database-kinds.ts'
import { demote } from '../../support/demote.ts'
import { startPostgres } from '../../support/embedded-postgres.ts'
import { hostSallyport } from '../../support/host-sallyport.ts'
import { PATIENT } from '../../support/postgres.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { writeApp } from '../../support/write-app.ts'

const directory = temporaryDirectory()
const host = hostSallyport()
afterAll(host.stop)
const doctor = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  host.run(['doctor', ...args], { cwd: directory, env })

const OK = 'ok      database       tables, columns, triggers, and functions are complete\n'

describe.each(await databaseKinds())('sallyport doctor --database in $name', (kind) => {
  test('checks only the database, whose URL comes from the option or DATABASE_URL', async () => {
    const database = await kind.create()
    await database.open()
    const done = { code: 0, stdout: OK, stderr: '' }
    expect(await doctor(['--database', database.url])).toEqual(done)
    expect(await doctor(['--database'], { DATABASE_URL: database.url })).toEqual(done)
    expect(await doctor(['database'], { DATABASE_URL: database.url })).toEqual(done)
  })

  test('prints each problem with its fix, exits with 1, and repairs nothing', async () => {
    const database = await kind.create()
    await (await database.open()).close()
    const isSqlite = kind.name === 'SQLite'
    const dropped = isSqlite ? 'table sallyport_audit' : 'trigger sallyport_user_changed on user'
    await database.run(`drop ${dropped.replace('on user', 'on "user"')}`)
    await database.run('alter table session drop column "rotatedAt"')
    const problems = [
      {
        problem: 'The column session.rotatedAt is missing.',
        fix: `Restart the app, or run "sallyport migrate". If it's still missing, restore a backup.`,
      },
      {
        problem: `The ${dropped} is missing.`,
        fix: `Restart the app${isSqlite ? '' : ' with a role that may create it'}, or run "sallyport migrate".`,
      },
    ]
    for (let i = 0; i < 2; i++) {
      const { code, stdout } = await doctor(['--database', database.url, '--json'])
      expect({ code, report: JSON.parse(stdout) }).toEqual({
        code: 1,
        report: [{ check: 'database', ok: false, summary: expect.any(String), problems }],
      })
    }
    const { stdout } = await doctor(['--database', database.url])
    expect(stdout).toMatch(/^failed {2}database {7}The column session\.rotatedAt is missing\. Restart/)
  })

  test('creates nothing in an empty database', async () => {
    const { url, rows } = await kind.create()
    const { code, stdout } = await doctor(['--database', url])
    expect(code).toBe(1)
    expect(stdout).toMatch(/The table user is missing\. Run "sallyport generate --schema drizzle"/)
    const catalog =
      kind.name === 'SQLite' ? 'sqlite_schema' : `information_schema.schemata where schema_name = 'sallyport'`
    expect(await rows(`select * from ${catalog}`)).toEqual([])
  })

  test('checks the columns and tables of the definition', async () => {
    const database = await kind.create()
    await database.open()
    const root = writeApp(directory, {
      'auth.ts': `export default { plugins: [{ id: 'app', userColumns: { locale: {} }, migrations: {
        async '1'(schema) { await schema.createTable('note').addColumn('id', 'text').execute() } } }] }`,
    })
    const { stdout } = await doctor(['--database', database.url, '--auth', join(root, 'auth.ts')])
    expect(stdout).toMatch(/The column user\.locale is missing[\s\S]*The table note is missing/)
    expect(stdout).toContain('sallyport migrate --auth <path>')
  })

  test('finds nothing wrong after migrate and prune with a definition whose columns are in another table', async () => {
    const { url } = await kind.create()
    const root = writeApp(directory, {
      'auth.ts': `
        const from = { table: 'member', column: 'team', where: { team: 'team', userId: 'userId' } }
        const migrations = { async '1'(schema) {
          await schema.createTable('member').addColumn('team', 'text').addColumn('userId', 'text').execute() } }
        export default { config: {}, plugins: [{ id: 'team', sessionColumns: { team: { from } }, migrations }] }`,
    })
    const options = ['--database', url, '--auth', join(root, 'auth.ts')]
    for (const command of [['migrate', '--create'], ['prune']]) {
      const { code } = await host.run([...command, ...options], { cwd: directory })
      expect({ code, report: await doctor(options) }).toMatchObject({ code: 0, report: { stdout: OK } })
    }
  })
})

test('a missing file is an error, and not created', async () => {
  const path = join(directory, 'typo.db')
  expect(await doctor(['--database', `file:${path}`])).toMatchObject({
    code: 1,
    stdout: `failed  database       Database ${path} not found. Check the path.\n`,
  })
  expect(existsSync(path)).toBe(false)
})

test('without a URL, it asks for one', async () => {
  expect(await doctor(['database'])).toMatchObject({ code: 2, stderr: expect.stringMatching(/DATABASE_URL/) })
})

test('an unreadable file stays as it is', async () => {
  const root = writeApp(directory, {
    'notes.txt': 'not a database, but a text that is long enough to be read',
  })
  const path = join(root, 'notes.txt')
  const { code } = await doctor(['--database', path])
  expect(code).toBe(1)
  expect(readFileSync(path, 'utf8')).toMatch(/^not a database/)
})

test('sallyport doctor --database rejects a standby', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const url = await server.createDatabase('app')
  await (await openPostgres(url, PATIENT)).close()
  expect((await doctor(['--database', url])).stdout).toBe(OK)
  const hand = new pg.Pool({ connectionString: url, max: 1 })
  hand.on('error', () => {})
  onTestFinished(() => hand.end())
  await demote(server, hand)
  const { code, stdout } = await doctor(['--database', url])
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout:
      'failed  database       The server is in recovery, so its data is stale. Connect to the primary.\n',
  })
})

test('in PostgreSQL, prune with another schema than that of the app creates nothing, and names the right one', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const url = await server.createDatabase('app')
  const database = await openPostgres(url, { ...PATIENT, schema: 'auth_internal' })
  onTestFinished(database.close)
  const prune = (...args: string[]) => host.run(['prune', '-d', url, ...args], { cwd: directory })
  expect(await prune()).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'The internal tables are in the schema auth_internal, not in sallyport. Pass --schema auth_internal.\n',
  })
  const schemas = sql`select from pg_namespace where nspname = 'sallyport'`.execute(database.db)
  expect((await schemas).rows).toEqual([])
  expect(await prune('--schema', 'auth_internal')).toMatchObject({ code: 0 })
})
