import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import { afterAll, describe, test as sequential } from 'vitest'
import { migratePlugins } from '../../src/database/schema/prepare-tables.ts'
import definition from '../fixtures/auth-definition.ts'
import { hostSallyport } from '../support/host-sallyport.ts'
import { AUTH_DEFINITION, type Run, runSallyport, startSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const test = sequential.concurrent

const directory = temporaryDirectory()
const DAY_MS = 24 * 60 * 60 * 1000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS)

const host = hostSallyport()
afterAll(host.stop)

/** Runs in a process that the calls share. */
const prune = (args: readonly string[], env: Record<string, string> = {}): Promise<Run> =>
  host.run(['prune', ...args], { cwd: directory, env })
const pruneAlone = (args: readonly string[]): Promise<Run> =>
  runSallyport(['prune', ...args], { cwd: directory })

type Database = Awaited<ReturnType<typeof openSqlite<Extra>>>

interface Extra {
  verification: {
    id: string
    purpose: string
    userId: string
    email: string
    expiresAt: Date
    createdAt: Date
  }
  knownDevice: { id: string; device: string; userId: string; expiresAt: Date; createdAt: Date }
  invitation: { id: string; expiresAt: Date }
}

/** Creates a database with one user and the rows of a test. */
async function createDatabase(
  fill: (database: Database) => Promise<void>,
): Promise<{ path: string; url: string }> {
  const path = join(directory, `${crypto.randomUUID()}.db`)
  const database = await openSqlite<Extra>(`file:${path}`)
  await database.db
    .insertInto('user')
    .values({
      id: 'ada',
      name: 'Ada',
      email: 'ada@example.com',
      emailVerified: false,
      image: null,
      role: 'user',
      banned: false,
      banReason: null,
      banExpires: null,
      createdAt: inDays(-400),
      updatedAt: inDays(-400),
    })
    .execute()
  await fill(database)
  await database.close()
  return { path, url: `file:${path}` }
}

async function addSessions({ db }: Database, ids: readonly string[], expiresAt: Date): Promise<void> {
  const at = inDays(-40)
  const rest = { ipAddress: null, userAgent: null, remembered: true, previousToken: null, rotatedAt: null }
  for (const id of ids)
    await db
      .insertInto('session')
      .values({
        ...rest,
        id,
        token: `sha256:${id}`,
        userId: 'ada',
        expiresAt,
        tokenFamily: null,
        lastAuthenticatedAt: at,
        lastSeenAt: at,
        createdAt: at,
        updatedAt: at,
      })
      .execute()
}

async function addRecords({ db }: Database, ages: readonly number[]): Promise<void> {
  for (const days of ages)
    await db
      .insertInto('sallyport.audit')
      .values({
        id: `${days} days old`,
        type: 'user.created',
        userId: 'ada',
        sessionId: null,
        actorId: null,
        address: null,
        detail: '{}',
        createdAt: inDays(-days),
      })
      .execute()
}

/** Returns the ids in a table. */
async function idsOf(url: string, table: 'session' | 'sallyport.audit' | keyof Extra): Promise<string[]> {
  const { db, close } = await openSqlite<Extra>(url)
  const rows = await db.selectFrom(table).select('id').orderBy('id').execute()
  await close()
  return rows.map(({ id }) => id)
}

describe('sallyport prune', () => {
  test('deletes expired rows, keeps the rest, and prints the counts', async ({ expect }) => {
    const { url } = await createDatabase(async (database) => {
      await addSessions(database, ['old 1', 'old 2'], inDays(-1))
      await addSessions(database, ['live'], inDays(1))
      await addRecords(database, [366, 364])
      const counter = { key: 'old', points: 3, expire: Date.now() - 1 }
      await database.db
        .insertInto('sallyport.rate_limit')
        .values([counter, { ...counter, key: 'live', expire: Date.now() + DAY_MS }])
        .execute()
    })
    expect(await pruneAlone(['--database', url])).toEqual({
      code: 0,
      stdout:
        'removed session 2, sallyport.audit 1, sallyport.rate_limit 1, sallyport.challenge 0, sallyport.service_token 0, sallyport.service_call 0\n',
      stderr: '',
    })
    expect(await idsOf(url, 'session')).toEqual(['live'])
    const { db, close } = await openSqlite(url)
    const records = await db
      .selectFrom('sallyport.audit')
      .select(['type', 'sessionId'])
      .orderBy('sessionId')
      .execute()
    const counters = await db.selectFrom('sallyport.rate_limit').select('key').execute()
    await close()
    expect(records).toEqual([
      { type: 'user.created', sessionId: null },
      { type: 'session.expired', sessionId: 'old 1' },
      { type: 'session.expired', sessionId: 'old 2' },
    ])
    expect(counters).toEqual([{ key: 'live' }])
    expect(await prune(['-d', url])).toMatchObject({
      stdout:
        'removed session 0, sallyport.audit 0, sallyport.rate_limit 0, sallyport.challenge 0, sallyport.service_token 0, sallyport.service_call 0\n',
    })
  })

  test('reads DATABASE_URL, and closes the database', async ({ expect }) => {
    const { path, url } = await createDatabase((database) => addSessions(database, ['old'], inDays(-1)))
    const { code, stdout } = await prune([], { DATABASE_URL: url })
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        'removed session 1, sallyport.audit 0, sallyport.rate_limit 0, sallyport.challenge 0, sallyport.service_token 0, sallyport.service_call 0\n',
    })
    expect(existsSync(`${path}-wal`)).toBe(false)
  })
})

describe('sallyport prune --auth', () => {
  /** Creates a database with an expired row and a live row in each plugin table. */
  const createPluginDatabase = () =>
    createDatabase(async (database) => {
      await migratePlugins(definition.plugins, database)
      for (const [id, expiresAt] of [
        ['old', inDays(-1)],
        ['live', inDays(1)],
      ] as const) {
        const common = { id, userId: 'ada', expiresAt, createdAt: inDays(-2) }
        await database.db
          .insertInto('verification')
          .values({ ...common, purpose: 'verify-email', email: 'ada@example.com' })
          .execute()
        await database.db
          .insertInto('knownDevice')
          .values({ ...common, device: `sha256:${id}` })
          .execute()
        await database.db.insertInto('invitation').values({ id, expiresAt }).execute()
      }
    })

  test('deletes expired rows in plugin tables too', async ({ expect }) => {
    const { url } = await createPluginDatabase()
    expect(await prune(['-d', url])).toMatchObject({
      stdout:
        'removed session 0, sallyport.audit 0, sallyport.rate_limit 0, sallyport.challenge 0, sallyport.service_token 0, sallyport.service_call 0\n',
    })
    for (const table of ['verification', 'knownDevice', 'invitation'] as const)
      expect(await idsOf(url, table)).toEqual(['live', 'old'])

    expect(await prune(['-d', url, '--auth', AUTH_DEFINITION])).toEqual({
      code: 0,
      stdout:
        'removed session 0, sallyport.audit 0, sallyport.rate_limit 0, sallyport.challenge 0, sallyport.service_token 0, sallyport.service_call 0, verification 1, knownDevice 1, invitation 1\n',
      stderr: '',
    })
    for (const table of ['verification', 'knownDevice', 'invitation'] as const)
      expect(await idsOf(url, table)).toEqual(['live'])
  })

  test('calls the hooks and onEvent of the definition for the sessions that it deletes', async ({
    expect,
  }) => {
    const { url } = await createPluginDatabase()
    const database = await openSqlite<Extra>(url)
    await addSessions(database, ['old'], inDays(-1))
    await database.close()
    expect(await prune(['-d', url, '--auth', AUTH_DEFINITION])).toMatchObject({
      code: 0,
      stdout:
        'removed session 1, sallyport.audit 0, sallyport.rate_limit 0, sallyport.challenge 0, sallyport.service_token 0, sallyport.service_call 0, verification 1, knownDevice 1, invitation 1\n',
      stderr: 'took part in session.expired\nheard session.expired\n',
    })
  })

  test('fails with 1 if the database is missing, and creates none', async ({ expect }) => {
    const path = join(directory, 'typo.db')
    const { code, stdout, stderr } = await prune(['-d', `file:${path}`])
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `Database ${path} not found. Check the path.\n`,
    })
    expect(existsSync(path)).toBe(false)
  })
})

describe('sallyport prune --every', () => {
  /** Returns the number of sessions that all rounds together deleted. */
  const removed = (lines: readonly string[]) =>
    lines.reduce((sum, line) => sum + Number(/^removed session (\d+),/.exec(line)?.[1]), 0)

  test.for(['SIGTERM', 'SIGINT'] as const)(
    'prunes repeatedly until %s, which exits with 0 and closes the file',
    async (signal, { expect, onTestFinished }) => {
      const { path, url } = await createDatabase((database) => addSessions(database, ['old'], inDays(-1)))
      const running = startSallyport(['prune', '-d', url, '--every', '1'], { cwd: directory })
      onTestFinished(() => void running.process.kill('SIGKILL'))
      await running.untilPrinted((lines) => removed(lines) === 1)
      const database = await openSqlite<Extra>(url)
      await addSessions(database, ['older', 'oldest'], inDays(-2))
      await database.close()
      await running.untilPrinted((lines) => removed(lines) === 3)
      running.process.kill(signal)
      const { code, stderr } = await running.ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(await idsOf(url, 'session')).toEqual([])
      expect(readdirSync(directory).filter((file) => join(directory, file).startsWith(`${path}-`))).toEqual(
        [],
      )
    },
  )
})

test('SIGINT ends a long sallyport prune after a batch, and exits with 1', async ({
  expect,
  onTestFinished,
}) => {
  const ids = Array.from({ length: 400 }, (_, i) => `old ${i}`)
  const { url } = await createDatabase((database) => addSessions(database, ids, inDays(-1)))
  const running = startSallyport(['prune', '-d', url, '--batch-size', '1'], { cwd: directory })
  onTestFinished(() => void running.process.kill('SIGKILL'))
  const left = async () => (await idsOf(url, 'session')).length
  await expect.poll(left).toBeLessThan(400)
  running.process.kill('SIGINT')
  const { code, stdout, stderr } = await running.ended
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'Stopped. Run it again to remove the rest.\n' })
  expect(await left()).toBeGreaterThan(0)
  expect(stdout).toBe(`removed session ${400 - (await left())}\n`)
})

describe('sallyport prune rejects', () => {
  test.for([
    { call: 'no database', args: [], message: 'pass --database, or set AUTH_DATABASE_URL or DATABASE_URL' },
    { call: '--every 0', args: ['-d', 'file:a.db', '--every', '0'], message: 'positive whole number' },
    { call: '--every -1', args: ['-d', 'file:a.db', '--every', '-1'], message: 'positive whole number' },
    { call: '--every 1.5', args: ['-d', 'file:a.db', '--every', '1.5'], message: 'positive whole number' },
    { call: '--every 1h', args: ['-d', 'file:a.db', '--every', '1h'], message: 'positive whole number' },
    { call: '--every 2147484', args: ['-d', 'file:a.db', '--every', '2147484'], message: 'at most 2147483' },
    { call: '--every alone', args: ['-d', 'file:a.db', '--every'], message: 'argument missing' },
    {
      call: '--batch-size 0',
      args: ['-d', 'file:a.db', '--batch-size', '0'],
      message: 'positive whole number',
    },
    {
      call: '--audit-days none',
      args: ['-d', 'file:a.db', '--audit-days', 'none'],
      message: 'positive whole number',
    },
    { call: 'an unknown option', args: ['-d', 'file:a.db', '--force'], message: 'unknown option' },
    { call: 'an argument', args: ['-d', 'file:a.db', 'sessions'], message: 'too many arguments' },
  ])('invalid arguments with 2: $call', async ({ args, message }, { expect }) => {
    const { code, stdout, stderr } = await prune(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(existsSync(join(directory, 'a.db'))).toBe(false)
  })
})
