import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commit, createSession } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { afterAll, describe, onTestFinished, test } from 'vitest'
import { migratePlugins } from '../../src/database/schema/prepare-tables.ts'
import { formatEnv } from '../../src/key-file/key-store.ts'
import { createKeyRing } from '../../src/keys/key-ring.ts'
import { insertAccount } from '../../src/plugins/email-password/accounts.ts'
import { verifyPassword } from '../../src/plugins/email-password/password.ts'
import definition from '../fixtures/auth-definition.ts'
import { hostSallyport } from '../support/host-sallyport.ts'
import { readAudit } from '../support/read-audit.ts'
import { type Run, runSallyport } from '../support/run-sallyport.ts'
import { subscribeToSession } from '../support/subscribe-to-session.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'
import { writeApp } from '../support/write-app.ts'

const directory = temporaryDirectory()
const CORE = new URL('../../src/', import.meta.url)
const MAIN = fileURLToPath(new URL('cli/main.ts', CORE))
const ENV = formatEnv(createKeyRing(await createSigningKey(), new Date()))
const PASSWORD = 'a long password'

/** Creates an app with a rule for passwords and a hook. Only its context says which file the database is. */
function createApp(plugins?: string): string {
  return writeApp(directory, appFiles(plugins))
}

function appFiles(plugins = `[emailPassword({ appName: 'Lighthouse' })]`) {
  return {
    '.env': ENV,
    'src/auth.ts': `
      import { defineAuthConfig, staticJwks } from '${CORE}index.ts'
      import { defineAuth } from '${CORE}auth.ts'
      import { admin } from '${CORE}plugins/admin.ts'
      import { emailPassword } from '${CORE}plugins/email-password.ts'
      const config = defineAuthConfig({
        baseUrl: 'http://localhost:3000',
        jwks: staticJwks(process.env.JWKS),
        onEvent: async ({ type }) => {
          await new Promise((resolve) => setTimeout(resolve, 50))
          console.error('heard ' + type)
        },
      })
      const hooks = { onChange: async ({ type }) => console.error('took part in ' + type) }
      export default defineAuth({ config, signingKeys: process.env.SIGNING_KEYS, plugins: ${plugins}, hooks })`,
    'src/context.ts': `
      import { createAuth } from '${CORE}auth.ts'
      import { openSqlite } from '${CORE}sqlite.ts'
      import authDefinition from './auth.ts'
      export const database = await openSqlite('file:app.db')
      export const auth = await createAuth(authDefinition, database)`,
  }
}

async function open(app: string) {
  const database = await openSqlite(`file:${join(app, 'app.db')}`)
  onTestFinished(() => database.close())
  await migratePlugins(definition.plugins, database)
  return database
}

const host = hostSallyport()
afterAll(host.stop)

interface Call {
  readonly email?: string
  readonly input?: string
  readonly more?: string
}

/** Returns the arguments that create a user. */
const creation = ({ email = 'ada@example.com', more = '' }: Call = {}) => [
  ...['user', 'create', email, '--name', 'Ada'],
  ...more.split(' ').filter(Boolean),
]

/** Runs a command, which opens the database as the app does, in a process that the calls share. */
const run = (app: string, args: readonly string[]): Promise<Run> =>
  host.run([...args, '--env', '.env'], { cwd: app })

/** Runs a command by the URL of the database. */
const runByUrl = (app: string, args: readonly string[], input = ''): Promise<Run> =>
  host.run([...args, '-d', 'file:app.db', '--env', '.env'], { cwd: app, input })

const createShared = (app: string, call: Call = {}) =>
  runByUrl(app, creation(call), call.input ?? `${PASSWORD}\n`)

/** Creates a user without the command, and without a password. */
async function insertUser(app: string, email = 'ada@example.com'): Promise<void> {
  const account = { name: 'Ada', email, passwordHash: '', role: 'user', now: new Date() }
  await commit(await open(app), (trx, record) => insertAccount(trx, record, account))
}

/** Returns the heard events in order. */
const heard = ({ stderr }: Run) => [...stderr.matchAll(/^heard (.*)$/gm)].map(([, type]) => type)

async function userOf(app: string, email = 'ada@example.com') {
  const database = await open(app)
  const user = await database.db
    .selectFrom('user')
    .selectAll()
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  return { ...database, user }
}

describe('sallyport user create', () => {
  test('creates a user in the database of the context, with a password from a pipe, hooks, and a record', async ({
    expect,
  }) => {
    const app = createApp()
    const args = creation({ email: ' Ada@Example.com ', more: '--role admin --json' })
    const created = await runSallyport([...args, '--env', '.env'], { cwd: app, input: `${PASSWORD}\n` })
    expect(created.code).toBe(0)
    expect(created.stderr).toBe('took part in user.created\nheard user.created\n')
    const { db, user } = await userOf(app)
    expect(JSON.parse(created.stdout)).toEqual([{ id: user.id, email: 'ada@example.com', role: 'admin' }])
    expect(user).toMatchObject({ name: 'Ada', role: 'admin' })
    expect(await readAudit({ db }, user.id)).toMatchObject([{ type: 'user.created', actorId: 'cli' }])
    const { password } = await db.selectFrom('account').select('password').executeTakeFirstOrThrow()
    expect(await verifyPassword(PASSWORD, password)).toBe(true)
  })

  const rejecting = createApp()

  test.for([
    { fault: 'a short password', call: { input: 'short\n' }, code: 1, message: 'Not valid: password.' },
    { fault: 'a common password', call: { input: 'password123\n' }, code: 1, message: 'too easy to guess' },
    { fault: 'the name of the app', call: { input: 'Lighthouse12' }, code: 1, message: 'too easy to guess' },
    { fault: 'no password', call: { input: '\n' }, code: 2, message: 'The password is missing.' },
    { fault: 'a bad email', call: { email: 'ada' }, code: 1, message: 'Not valid: email.' },
    { fault: 'an empty role', call: { more: '--role=' }, code: 2, message: `"" can't be a role` },
    { fault: 'several roles', call: { more: '--role user,admin' }, code: 2, message: `can't be a role` },
    {
      fault: 'a password as an argument',
      call: { more: '--password x' },
      code: 2,
      message: 'unknown option',
    },
  ])('rejects $fault', async ({ call, code, message }, { expect }) => {
    const { db } = await open(rejecting)
    const failed = await createShared(rejecting, call)
    expect(failed).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) })
    expect(await db.selectFrom('user').selectAll().execute()).toEqual([])
  })

  test('leaves an existing user unchanged, and exits with 3', async ({ expect }) => {
    const app = createApp()
    await insertUser(app)
    const { db, user } = await userOf(app)
    const accounts = db.selectFrom('account').selectAll()
    const before = await accounts.execute()
    const { code, stderr } = await createShared(app, { more: '--role admin', input: 'another password' })
    expect({ code, stderr }).toEqual({ code: 3, stderr: 'Nothing changed. A user with this email exists.\n' })
    expect((await userOf(app)).user).toEqual(user)
    expect(await accounts.execute()).toEqual(before)
  })

  test.for(['user create ada@example.com --name Ada', 'user promote ada@example.com'])(
    '%s rejects a role that admin() rejects',
    async (command, { expect }) => {
      const app = createApp("[emailPassword(), admin({ roles: ['user', 'editor'] })]")
      await insertUser(app)
      expect(await runByUrl(app, [...command.split(' '), '--role', 'admin'])).toMatchObject({
        code: 2,
        stderr: 'Role "admin" is unknown. Pass user or editor, or add it to admin({ roles }).\n',
      })
      expect((await userOf(app)).user.role).toBe('user')
    },
  )

  test('needs emailPassword() in the definition', async ({ expect }) => {
    const app = createApp('[]')
    await open(app)
    const { code, stderr } = await createShared(app)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'The auth definition lacks emailPassword(). Add the plugin.\n',
    })
  })

  test.skipIf(process.platform !== 'linux')(
    'asks twice in a terminal, which shows no password',
    async ({ expect }) => {
      const app = createApp()
      const differing = await createInTerminal(app, [PASSWORD, 'a longer password'])
      expect(differing).toContain('The passwords differ. Nothing changed.')
      const shown = await createInTerminal(app, [PASSWORD, PASSWORD])
      expect(shown).toContain('ada@example.com')
      expect(differing + shown).not.toContain('long')
      const { db } = await open(app)
      const { password } = await db.selectFrom('account').select('password').executeTakeFirstOrThrow()
      expect(await verifyPassword(PASSWORD, password)).toBe(true)
    },
  )

  /** Types the answers into a terminal, each after its prompt, and returns what the terminal shows. */
  async function createInTerminal(cwd: string, [password, again]: readonly [string, string]) {
    const command = `${process.execPath} ${MAIN} user create ada@example.com --name Ada --env .env`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    let shown = ''
    const answers = new Map([
      ['Password: ', password],
      ['Again: ', again],
    ])
    terminal.stdout.setEncoding('utf8').on('data', (text) => {
      shown += text
      for (const [prompt, answer] of answers)
        if (shown.includes(prompt) && answers.delete(prompt)) terminal.stdin.write(`${answer}\r`)
    })
    await once(terminal, 'close')
    return shown
  }
})

describe('sallyport user promote and list', () => {
  test('promote gives the role, records it, and exits with 3 if the user has it', async ({ expect }) => {
    const app = createApp()
    await insertUser(app)
    const promoted = await run(app, ['user', 'promote', 'Ada@example.com'])
    expect(promoted.code).toBe(0)
    expect(promoted.stderr).toBe('took part in user.role-changed\nheard user.role-changed\n')
    const { db, user } = await userOf(app)
    expect(user.role).toBe('admin')
    const change = { type: 'user.role-changed', actorId: 'cli', from: 'user', to: 'admin' }
    expect((await readAudit({ db }, user.id)).at(-1)).toMatchObject(change)
    expect(await runByUrl(app, ['user', 'promote', 'ada@example.com'])).toMatchObject({
      code: 3,
      stdout: '',
    })
    expect(await readAudit({ db }, user.id)).toHaveLength(2)
    expect(await runByUrl(app, ['user', 'promote', 'eve@example.com'])).toMatchObject({
      code: 1,
      stderr: 'No user has the email eve@example.com. Run "sallyport user list".\n',
    })
    // The Kelvin sign, which is a `k` in lower case.
    await insertUser(app, 'kate@example.com')
    expect(await runByUrl(app, ['user', 'promote', '\u212aate@example.com'])).toMatchObject({ code: 1 })
  })

  test('list shows the users that match, and records the read', async ({ expect }) => {
    const app = createApp()
    for (const email of ['ada@example.com', 'grace@example.com']) await insertUser(app, email)
    const listed = await run(app, ['user', 'list', '--search', 'GRACE', '--json'])
    const { db, user } = await userOf(app, 'grace@example.com')
    const { id, email, name, role, createdAt } = user
    const created = new Date(createdAt).toISOString()
    const listedUser = { id, email, verified: 'no', name, role, state: 'active', created }
    expect(JSON.parse(listed.stdout)).toEqual([listedUser])
    await db.updateTable('user').set({ emailVerified: true }).where('id', '=', id).execute()
    const verified = await runByUrl(app, ['user', 'list', '--search', 'grace', '--json'])
    expect(JSON.parse(verified.stdout)).toEqual([{ ...listedUser, verified: 'yes' }])
    const reads = db.selectFrom('sallyport.audit').select(['type', 'actorId', 'detail'])
    expect(await reads.where('type', '=', 'admin.users-listed').execute()).toEqual([
      { type: 'admin.users-listed', actorId: 'cli', detail: '{"search":"GRACE"}' },
      { type: 'admin.users-listed', actorId: 'cli', detail: '{"search":"grace"}' },
    ])
    expect((await runByUrl(app, ['user', 'list'])).stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^id +email +verified +name +role +state +created$/),
      expect.stringContaining('grace@example.com'),
      expect.stringContaining('ada@example.com'),
    ])
    expect((await runByUrl(app, ['user', 'list', '--limit', '1'])).stdout.split('\n')).toHaveLength(3)
  })

  test.for([
    { ban: 'has ended', banExpires: new Date(0), state: 'active' },
    { ban: 'has no end', banExpires: null, state: 'banned' },
  ])('a user whose ban $ban is $state', async ({ banExpires, state }, { expect }) => {
    const app = createApp()
    await insertUser(app)
    const { db } = await open(app)
    await db.updateTable('user').set({ banned: true, banExpires }).execute()
    expect(JSON.parse((await run(app, ['user', 'list', '--json'])).stdout)).toMatchObject([{ state }])
  })
})

describe('sallyport sessions', () => {
  /** Creates an app whose user has two sessions. The first browser sends an escape sequence. */
  async function createSessions() {
    const app = createApp()
    await insertUser(app)
    const database = await userOf(app)
    const { id: userId } = database.user
    const begin = (userAgent: string) =>
      createSession(database, { userId, config: definition.config, userAgent, address: '192.0.2.1' })
    const [first, second] = [await begin('\u001b[2J'), await begin('curl/8')]
    return { app, ...database, first, second }
  }

  test('list shows the sessions without their secrets, and records the read', async ({ expect }) => {
    const { app, db, user, first, second } = await createSessions()
    const { stdout } = await run(app, ['sessions', 'list', 'ada@example.com'])
    for (const { id } of [first, second]) expect(stdout).toContain(id)
    expect(stdout).toContain('curl')
    expect(stdout).not.toContain('\u001b')
    expect(stdout).not.toMatch(
      new RegExp([first, second].map(({ cookie }) => cookie.split('.')[1]).join('|')),
    )
    expect((await readAudit({ db }, user.id)).at(-1)).toMatchObject({
      type: 'admin.sessions-listed',
      actorId: 'cli',
    })
  })

  test('revoke ends a session: a node with a stream of it is notified', async ({ expect }) => {
    const { app, first, second, ...database } = await createSessions()
    const { id: userId } = database.user
    const [ended, other] = [first, second].map(({ id: sessionId }) =>
      subscribeToSession({ database }, { sessionId, userId }),
    )
    // The feed was idle, so it calls every listener once.
    await until(() => [ended, other].every((listener) => listener?.mock.calls.length === 1))
    const revoked = await run(app, ['sessions', 'revoke', first.id])
    expect(revoked).toMatchObject({ code: 0, stdout: 'revoked\n1\n' })
    expect(heard(revoked)).toEqual(['session.revoked'])
    await until(() => ended?.mock.calls.length === 2)
    expect(other).toHaveBeenCalledTimes(1)
    expect((await readAudit(database, userId)).at(-1)).toMatchObject({
      type: 'session.revoked',
      sessionId: first.id,
      actorId: 'cli',
      cause: 'revoked-by-admin',
    })
    const sessions = database.db.selectFrom('session').select('id')
    expect(await sessions.execute()).toEqual([{ id: second.id }])
    expect(await runByUrl(app, ['sessions', 'revoke', first.id])).toMatchObject({ code: 3, stdout: '' })
  })

  test('revoke --user ends all, by the URL of the database too', async ({ expect }) => {
    const { app, db } = await createSessions()
    const revoked = await runByUrl(app, ['sessions', 'revoke', '--user', 'ada@example.com'])
    expect(revoked).toMatchObject({ code: 0, stdout: 'revoked\n2\n' })
    expect(heard(revoked)).toEqual(['session.revoked', 'session.revoked'])
    expect(await db.selectFrom('session').select('id').execute()).toEqual([])
  })

  test('revoke opens a database that opens at its first use, also if the key set is down', async ({
    expect,
  }) => {
    const { app, db } = await createSessions()
    const context = `
      import { createAuth } from '${CORE}auth.ts'
      import { dynamicJwks } from '${CORE}index.ts'
      import { openSqlite } from '${CORE}sqlite.ts'
      import definition from './auth.ts'
      const [issuer] = definition.config.issuers
      const issuers = [{ ...issuer, jwks: dynamicJwks('http://localhost:1/jwks') }]
      const isolated = { ...definition, config: { ...definition.config, issuers } }
      export const auth = createAuth(isolated, () => openSqlite('file:app.db'))`
    writeFileSync(join(app, 'src/context.ts'), context)
    const args = ['sessions', 'revoke', '--user', 'ada@example.com', '--env', '.env']
    const revoked = await host.run(args, { cwd: app })
    expect(revoked).toMatchObject({ code: 0, stdout: 'revoked\n2\n' })
    expect(heard(revoked)).toEqual(['session.revoked', 'session.revoked'])
    expect(await db.selectFrom('session').select('id').execute()).toEqual([])
  })

  test('list says why a database that opens at its first use is not open', async ({ expect }) => {
    const app = createApp()
    const settings = `() => ({ baseUrl: 'http://localhost:3000', jwks: staticJwks(process.env.JWKS) })`
    const files = {
      'src/auth.ts': `
        import { defineAuthConfig, staticJwks } from '${CORE}index.ts'
        import { defineAuth } from '${CORE}auth.ts'
        const config = defineAuthConfig(${settings})
        export default defineAuth({ config, signingKeys: () => process.env.SIGNING_KEYS, plugins: [] })`,
      'src/context.ts': `
        import { createAuth } from '${CORE}auth.ts'
        import { openSqlite } from '${CORE}sqlite.ts'
        import definition from './auth.ts'
        export const auth = createAuth(definition, () => openSqlite('file:app.db'), { name: 'app' })`,
    }
    for (const [path, text] of Object.entries(files)) writeFileSync(join(app, path), text)
    const failed = await host.run(['sessions', 'list', 'ada@example.com'], { cwd: app })
    expect(failed.code).toBe(1)
    expect(failed.stderr).toMatch(/\nJWKS is not set\. .* \.\/\.env has JWKS: pass --env \.env\.\n$/)
  })

  test.for([
    { fault: 'neither', args: [] },
    { fault: 'both', args: ['some-id', '--user', 'ada@example.com'] },
  ])('revoke rejects $fault of a session and a user', async ({ args }, { expect }) => {
    const failed = await runByUrl(createApp(), ['sessions', 'revoke', ...args])
    expect(failed).toMatchObject({ code: 2, stderr: 'Pass the id of a session, or --user <email>.\n' })
  })
})

test('sallyport prune uses the database of the context, too', async ({ expect }) => {
  const app = createApp()
  await insertUser(app)
  const pruned = await host.run(['prune', '--env', '.env'], { cwd: app })
  expect(pruned).toMatchObject({ code: 0, stdout: expect.stringMatching(/^removed .*session 0/) })
})

describe('an app with its own DATABASE_URL', () => {
  /** Creates an app whose database isn't ours. */
  function createHost(files: Readonly<Record<string, string>> = {}) {
    const app = writeApp(directory, { '.env': `${ENV}\nDATABASE_URL=file:host.db\n`, ...files })
    const host = new Database(join(app, 'host.db'))
    onTestFinished(() => void host.close())
    host.exec('create table user (id text)')
    return { app, tables: () => host.prepare('select name from sqlite_schema').pluck().all() }
  }
  const { 'src/auth.ts': auth, 'src/context.ts': context } = appFiles()
  const runIn = (cwd: string, args: readonly string[], env = {}) =>
    host.run([...args, '--env', '.env'], { cwd, env, input: PASSWORD })

  test.for(['user create ada@example.com --name Ada', 'user list', 'sessions revoke some-id', 'prune'])(
    'gets no tables from %s',
    async (command, { expect }) => {
      const { app, tables } = createHost({ 'src/auth.ts': auth })
      expect(await runIn(app, command.split(' '))).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^Missing in the database: .*table session, .*Then run "sallyport migrate( --auth <path>)?" or your migration tool\.\n$/,
        ),
      })
      expect(tables()).toEqual(['user'])
    },
  )

  test('has the users in the database of auth-server.ts, or in AUTH_DATABASE_URL', async ({ expect }) => {
    const files = { 'src/auth.ts': auth, 'src/auth-server.ts': context, 'src/context.ts': 'export {}' }
    const { app, tables } = createHost(files)
    expect((await runIn(app, creation())).code).toBe(0)
    expect((await userOf(app)).user.name).toBe('Ada')
    // A process loads a context once, and the command before closed its database.
    const doctor = await runSallyport(['doctor', 'database', '--env', '.env'], { cwd: app })
    expect(doctor.code).toBe(0)
    const other = createHost({ 'src/auth.ts': auth })
    const env = { AUTH_DATABASE_URL: `file:${join(app, 'app.db')}` }
    for (const args of [['user', 'list'], ['prune'], ['doctor', 'database'], ['migrate']])
      expect((await runIn(other.app, args, env)).code).toBe(0)
    for (const unchanged of [tables, other.tables]) expect(unchanged()).toEqual(['user'])
  })
})
