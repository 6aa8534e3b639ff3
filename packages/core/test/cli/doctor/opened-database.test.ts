import type { AddedColumns } from '@sallyport/core/auth'
import type { PostgresOptions, StoreMapping } from '@sallyport/core/postgres'
import type { OwnNames } from '@sallyport/core/sqlite'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { databaseKinds, type TestDatabase } from '../../support/database-kinds.ts'
import { hostSallyport } from '../../support/host-sallyport.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { writeApp } from '../../support/write-app.ts'

vi.spyOn(console, 'warn').mockImplementation(() => {})

const directory = temporaryDirectory()
const CORE = new URL('../../../src/', import.meta.url)
const host = hostSallyport()
afterAll(host.stop)

const OK = 'ok      database       tables, columns, triggers, and functions are complete\n'
const SNAKE_CASE: OwnNames = {
  user: { columns: 'snake_case' },
  session: { columns: 'snake_case' },
  account: { columns: 'snake_case' },
}
const mapping: StoreMapping = {
  session: {
    table: 'sessions',
    columns: { userId: 'user_id', expiresAt: 'expires', lastAuthenticatedAt: null },
  },
  user: { table: 'users', columns: { role: null, banned: null, banExpires: null } },
}

interface Options extends PostgresOptions {
  mapping?: StoreMapping
  names?: OwnNames
  migrate?: boolean
  columns?: AddedColumns
}

interface Problem {
  readonly problem: string
  readonly fix: string
}

describe.each(await databaseKinds())('sallyport doctor --database of an app in $name', (kind) => {
  const isSqlite = kind.name === 'SQLite'
  const engine = isSqlite ? 'sqlite' : 'postgres'
  const name = isSqlite ? 'Sqlite' : 'Postgres'

  /** Runs the doctor in an app whose `src/context.ts` opens the database, and fails later. */
  function doctor(
    { url }: TestDatabase,
    options: Options,
    { args = [], files = {} }: { args?: readonly string[]; files?: Record<string, string> } = {},
  ) {
    const open = `open${name}${options.mapping ? 'Store' : ''}`
    const cwd = writeApp(directory, {
      ...files,
      'src/context.ts': `import './database.ts'\nthrow new Error('went on')`,
      'src/database.ts': `import { ${open} } from '${CORE}${engine}.ts'
        export const opened = await ${open}(${JSON.stringify(url)}, ${JSON.stringify(options)})
        throw new Error('went on')`,
    })
    return host.run(['doctor', '--database', ...args], { cwd, env: { DATABASE_URL: 'file:unused.db' } })
  }

  async function problems(
    database: TestDatabase,
    options: Options,
    files: Record<string, string> = {},
  ): Promise<readonly Problem[]> {
    const { code, stdout } = await doctor(database, options, { args: ['--json'], files })
    const [{ ok, problems }] = JSON.parse(stdout)
    expect({ code, ok }).toEqual({ code: 1, ok: false })
    return problems
  }

  async function catalog(database: TestDatabase): Promise<unknown> {
    return database.rows(
      isSqlite
        ? 'select type, name from sqlite_schema order by name'
        : `select table_schema, table_name from information_schema.tables
            where table_schema not in ('pg_catalog', 'information_schema') order by 1, 2`,
    )
  }

  async function createMapped(): Promise<TestDatabase> {
    const database = await kind.create()
    const date = isSqlite ? 'text' : 'timestamptz'
    await database.run('create table users (id text primary key, name text, email text)')
    await database.run(`create table sessions (id text primary key, user_id text, expires ${date})`)
    return database
  }

  test('a mapped store is checked by its mapping, and nothing is created in it', async () => {
    const database = await createMapped()
    const before = await catalog(database)
    const schema = isSqlite ? 'sallyport_' : 'sallyport.'
    const found = await problems(database, { mapping })
    expect(found).toContainEqual({
      problem: `The table ${schema}rate_limit is missing.`,
      fix: `Restart the app${isSqlite ? '' : ' with a role that may create it'}.`,
    })
    expect(found.map(({ problem }) => problem).join('\n')).not.toMatch(/table (user|session|account) /)
    expect(await catalog(database)).toEqual(before)

    await (await database.openStore(mapping)).close()
    expect(await doctor(database, { mapping })).toMatchObject({ code: 0, stdout: OK })
    await database.run('alter table users drop column email')
    expect(await problems(database, { mapping })).toEqual([
      {
        problem: 'The column users.email is missing.',
        fix: 'Restore it, or change the mapping of the store.',
      },
    ])
  })

  test('dates that a mapping reads wrongly are reported as at the start', async () => {
    const database = await createMapped()
    await (await database.openStore(mapping)).close()
    await database.run(`insert into users (id) values ('ada')`)
    await database.run(`insert into sessions values ('one', 'ada', '2030-01-01T00:00:00.000Z')`)
    const { code, stdout } = await doctor(database, { mapping: { ...mapping, dates: 'seconds' } })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^failed {2}database .*mapping: .*mapping\.dates/)
  })

  test("the app's names of our tables are checked, as its own tool creates them", async () => {
    const database = await kind.create()
    await (await database.open()).close()
    const options = { names: SNAKE_CASE, migrate: false }
    for (const [table, columns] of [
      ['user', ['emailVerified', 'createdAt', 'updatedAt', 'banReason', 'banExpires']],
      ['account', ['userId', 'accountId', 'providerId', 'createdAt', 'updatedAt']],
    ] as const)
      for (const column of columns)
        await database.run(`alter table "${table}" rename column "${column}" to "${toSnakeCase(column)}"`)
    const found = await problems(database, options)
    expect(found).toContainEqual({
      problem: 'The column session.expires_at is missing.',
      fix: expect.stringMatching(/sallyport generate/),
    })
    expect(found.filter(({ problem }) => /column (user|account)\./.test(problem))).toEqual([])
  })

  test('the tables of plugins are checked in our own database, and not in a mapped one', async () => {
    const plugins = `export default { plugins: [{ id: 'app', migrations: {
      async '1'(schema) { await schema.createTable('note').addColumn('id', 'text').execute() } } }] }`
    const own = await kind.create()
    await (await own.open()).close()
    const auth = { 'src/auth.ts': plugins }
    expect((await problems(own, {}, auth)).map(({ problem }) => problem)).toEqual([
      'The table note is missing.',
    ])
    const mapped = await createMapped()
    await (await mapped.openStore(mapping)).close()
    expect(await doctor(mapped, { mapping }, { files: auth })).toMatchObject({ code: 0, stdout: OK })
  })

  test('columns of the definition that the app does not read are reported as at the start', async () => {
    const auth = { 'src/auth.ts': `export default { plugins: [{ id: 'app', userColumns: { locale: {} } }] }` }
    const columns = { user: { locale: { type: 'text' as const } }, session: {} }
    const own = await kind.create()
    await (await own.open({ columns })).close()
    expect(await problems(own, {}, auth)).toEqual([
      {
        problem: 'The auth definition adds user.locale, which Step 2 does not read.',
        fix: 'Run "sallyport generate", and open the database with { columns: authColumns }.',
      },
    ])
    expect(await doctor(own, { columns }, { files: auth })).toMatchObject({ code: 0, stdout: OK })
    const mapped = await createMapped()
    await (await mapped.openStore(mapping)).close()
    expect(await doctor(mapped, { mapping }, { files: auth })).toMatchObject({ code: 0, stdout: OK })
  })

  test('a module whose database opens at the first use is made to open it', async () => {
    const database = await kind.create()
    await (await database.open()).close()
    await database.run('alter table "user" rename column "banReason" to "reason"')
    const cwd = writeApp(directory, {
      'src/context.ts': `import { createAuth, defineAuth } from '${CORE}auth.ts'
        import { defineAuthConfig } from '${CORE}index.ts'
        import { open${name} } from '${CORE}${engine}.ts'
        const config = defineAuthConfig(() => ({ baseUrl: 'http://localhost:3000', jwks: null }))
        const definition = defineAuth({ config, signingKeys: () => undefined })
        export const auth = createAuth(definition, () => open${name}(${JSON.stringify(database.url)}))`,
    })
    const env = { DATABASE_URL: 'file:unused.db' }
    expect(await host.run(['doctor', '--database'], { cwd, env })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/The column user\.banReason is missing/),
    })
  })

  test('a module that opens no database is an error, unless DATABASE_URL names one', async () => {
    const database = await kind.create()
    await (await database.open()).close()
    const cwd = writeApp(directory, { 'src/context.ts': 'export {}' })
    const env = { DATABASE_URL: database.url }
    expect(await host.run(['doctor', '--database'], { cwd, env })).toMatchObject({ code: 0, stdout: OK })
    expect(
      await host.run(['doctor', '--database', '--context', 'src/context.ts'], { cwd, env }),
    ).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/src\/context\.ts opens no database.*--database/),
    })
  })

  if (isSqlite) {
    test('a missing file is not created', async () => {
      const database = { ...(await kind.create()), url: `${directory}/new.db` }
      expect(await doctor(database, {})).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/new\.db not found/),
      })
    })

    test('the journal mode delete is reported, and kept', async () => {
      const mapped = await createMapped()
      await mapped.run('pragma journal_mode = delete')
      await (await mapped.openStore(mapping)).close()
      const own = await kind.create()
      await (await own.open()).close()
      await own.run('pragma journal_mode = delete')
      for (const [database, options] of [
        [mapped, { mapping }],
        [own, {}],
      ] as const) {
        expect(await problems(database, options)).toEqual([
          {
            problem: 'The journal mode is delete, so lookups wait while another process writes.',
            fix: expect.stringMatching(/^Run "pragma journal_mode = wal"/),
          },
        ])
        expect(await database.rows('pragma journal_mode')).toEqual([{ journal_mode: 'delete' }])
      }
    })
    return
  }

  test('missing triggers and functions, and an outdated function, are reported in a custom schema', async () => {
    const database = await createMapped()
    const schema = 'auth_internal'
    const { openPostgres, openPostgresStore } = await import('@sallyport/core/postgres')
    await (await openPostgresStore(database.url, { schema, mapping })).close()
    await (await openPostgres(database.url, { schema })).close()
    expect(await doctor(database, { schema, mapping })).toMatchObject({ code: 0, stdout: OK })
    expect(await doctor(database, { schema })).toMatchObject({ code: 0, stdout: OK })
    const bare = ['doctor', '--database', database.url]
    expect(await host.run([...bare, '--schema', schema], { cwd: directory })).toMatchObject({ code: 0 })
    expect(await host.run(bare, { cwd: directory })).toMatchObject({ code: 1 })

    await database.run(`drop trigger ${schema}_session_deleted on sessions`)
    await database.run(`update pg_proc set prosrc = prosrc || '-- older' where oid = (
      select tgfoid from pg_trigger
        where tgname = 'auth_internal_session_changed' and tgrelid = 'sessions'::regclass)`)
    const fix = 'Restart the app with a role that may create it'
    expect(await problems(database, { schema, mapping })).toEqual([
      {
        problem: `The function of the trigger ${schema}_session_changed on sessions is outdated.`,
        fix: `${fix}.`,
      },
      { problem: `The trigger ${schema}_session_deleted on sessions is missing.`, fix: `${fix}.` },
      {
        problem: `The function of the trigger ${schema}_session_truncated on sessions is outdated.`,
        fix: `${fix}.`,
      },
    ])
    await database.run(`drop schema ${schema} cascade`)
    expect(await problems(database, { schema })).toContainEqual({
      problem: `The trigger ${schema}_session_changed on session is missing.`,
      fix: `${fix}, or run "sallyport migrate --schema ${schema}".`,
    })
  })
})

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
