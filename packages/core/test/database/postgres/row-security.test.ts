import { ConfigurationError, type SessionKey } from '@sallyport/core'
import { createAuth, defineAuth } from '@sallyport/core/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { openPostgres, openPostgresStore } from '@sallyport/core/postgres'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createIssuer } from '../../support/create-issuer.ts'
import { postgresKind } from '../../support/database-kinds.ts'
import { PATIENT, PATIENT_SESSION, testPostgres } from '../../support/postgres.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { storeSession } from '../../support/stored-sessions.ts'

const server = await testPostgres()
const { create } = postgresKind(server)
const MAPPING = { session: { columns: { version: 'version', lastAuthenticatedAt: null } } } as const

const database = await create()
await (await database.open()).close()
const ada = await storeSession(database)
await database.run(`
  create role app login password 'secret';
  create role reader login password 'secret';
  grant usage on schema sallyport to app, reader;
  grant all on all tables in schema sallyport to app, reader;
  grant all on all tables in schema public to app;
  grant select on all tables in schema public to reader`)

/** Runs statements until the test ends. */
async function during(statements: string, undo: string): Promise<void> {
  await database.run(statements)
  onTestFinished(() => database.run(undo))
}
const enable = (table = 'session') =>
  during(`alter table ${table} enable row level security`, `alter table ${table} disable row level security`)
const addPolicy = (rest: string) =>
  during(`create policy shown on session ${rest}`, 'drop policy shown on session')

function urlOf(role: string): string {
  const url = new URL(database.url)
  url.username = role
  url.password = 'secret'
  return url.href
}

function poolOf(role: string): { pool: pg.Pool } {
  const pool = new pg.Pool({ connectionString: urlOf(role) })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return { pool }
}

test("a check that hangs delays no found session of the app's pool", async () => {
  const { pool } = poolOf('app')
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  let hangs = false
  const patched = new WeakSet<pg.PoolClient>()
  async function connectPatched(): Promise<pg.PoolClient> {
    const client = await connect()
    const query = client.query.bind(client)
    const run = (statement: { text?: string }) =>
      hangs && statement.text?.includes('row_security_active')
        ? new Promise(() => {})
        : query(statement as never)
    if (!patched.has(client)) Object.assign(client, { query: run })
    patched.add(client)
    return client
  }
  Object.assign(pool, { connect: connectPatched })
  // The pool ends once the check has timed out, too.
  const timeouts = { lookupTimeoutMs: 300, statementTimeoutMs: 1_000 }
  const { sessions, close } = await openPostgresStore({ pool }, { ...timeouts, mapping: MAPPING })
  onTestFinished(close)
  const find = (key: SessionKey) => reasonOf(Promise.resolve(sessions.findSession(key)))
  const unknown = { ...ada, sessionId: crypto.randomUUID() }
  hangs = true
  const results = await Promise.all([ada, unknown, ada].map(find))
  expect(results).toEqual(['accepted', 'SESSIONS_UNAVAILABLE', 'accepted'])
  expect(await find(ada)).toBe('accepted')
})

const SOURCES = [
  ['a URL', urlOf],
  ["the app's pool", poolOf],
] as const

describe.each(SOURCES)('with %s', (name, sourceOf) => {
  async function open(role = 'app') {
    const opened = await openPostgres(sourceOf(role), PATIENT)
    onTestFinished(opened.close)
    return opened.sessions
  }
  async function openStore(role = 'app') {
    const { sessions, close } = await openPostgresStore(sourceOf(role), { ...PATIENT, mapping: MAPPING })
    onTestFinished(close)
    return sessions
  }

  test('hidden sessions are 503 and not 401, until they are shown again', async () => {
    const { findSession, findToken } = await open()
    const find = (key: SessionKey) => reasonOf(Promise.resolve(findSession(key)))
    await database.run('alter table session enable row level security')
    for (const keys of [[ada], [ada, ada, ada]])
      expect(new Set(await Promise.all(keys.map(find)))).toEqual(new Set(['SESSIONS_UNAVAILABLE']))
    await expect(findToken(ada.sessionId)).rejects.toMatchObject({ code: '42501' })
    await database.run('alter table session disable row level security')
    expect(await findSession(ada)).toMatchObject({ id: ada.sessionId })
    expect(await findSession({ ...ada, sessionId: 'none' })).toBeNull()
    expect(await findToken(ada.sessionId)).toMatchObject({ userId: ada.userId })
    expect(await findToken('none')).toBeNull()
  })

  test('a sign-out of a hidden session is 503, by its cookie and by its JWT', async () => {
    const { config, signingKeys } = await createIssuer({ session: PATIENT_SESSION })
    const opened = await openPostgres(sourceOf('app'), PATIENT)
    onTestFinished(opened.close)
    const auth = await createAuth(defineAuth({ config, signingKeys }), opened, { pruneEverySeconds: 0 })
    onTestFinished(() => auth.close())
    const requestWith = (cookie = '') =>
      new Request(config.issuer, { method: 'POST', headers: { [CLIENT_HEADER]: '1', cookie } })
    const { headers } = await auth.api.createSession({ userId: ada.userId, request: requestWith() })
    const [jwt, session] = headers.getSetCookie().map((cookie) => cookie.split(';')[0])
    const signOut = (cookie?: string) => reasonOf(auth.api.signOut({ request: requestWith(cookie) }))
    await enable()
    expect(await signOut(session)).toBe('SESSIONS_UNAVAILABLE')
    expect(await signOut(jwt)).toBe('SESSIONS_UNAVAILABLE')
    await database.run('alter table session disable row level security')
    expect(await signOut(session)).toBe('accepted')
    expect(await signOut(session)).toBe('accepted')
  })

  test.each(['session', '"user"'])('does not open if rows of %s can be hidden', async (table) => {
    await enable(table)
    for (const start of [open, openStore]) {
      const opening = start()
      await expect(opening).rejects.toThrow(ConfigurationError)
      await expect(opening).rejects.toThrow(
        `rows of the table "${table.replaceAll('"', '')}" from the role app`,
      )
      await expect(opening).rejects.toThrow('alter role app bypassrls')
    }
  })

  test('opens with each remedy', async () => {
    await enable()
    await database.run('alter role app bypassrls')
    expect(await (await open()).findSession(ada)).toMatchObject({ id: ada.sessionId })
    await database.run('alter role app nobypassrls; alter table session owner to app')
    expect(await (await openStore()).findSession(ada)).toMatchObject({ id: ada.sessionId })
    await database.run('alter table session owner to postgres; grant all on session to app')
  })

  test.each([
    ['all rows to the role', 'to app using (true)', 'app'],
    ['all rows to everyone', 'using (true)', 'app'],
    ['all rows to a role that can only read', 'for select to reader using (true)', 'reader'],
  ])(`${name === 'a URL' ? 'rejects' : 'accepts'} a policy that shows %s`, async (_name, rest, role) => {
    await enable()
    await addPolicy(rest)
    if (name === 'a URL') return expect(openStore(role)).rejects.toThrow('Row-level security')
    const { findSession } = await openStore(role)
    expect(await findSession(ada)).toMatchObject({ id: ada.sessionId })
    expect(await findSession({ ...ada, sessionId: 'none' })).toBeNull()
  })

  test.each([
    ['other rows', 'to app using ("userId" = current_user)'],
    ['rows to another role', 'to reader using (true)'],
    ['rows only to readers, to a role that can lock and delete them', 'for select to app using (true)'],
  ])('rejects a policy that shows %s', async (_name, rest) => {
    await enable()
    await addPolicy(rest)
    await expect(openStore()).rejects.toThrow('Row-level security')
  })

  test('rejects a restrictive policy next to one that shows all rows', async () => {
    await enable()
    await addPolicy('to app using (true)')
    await during(
      `create policy hidden on session as restrictive using (version > 1)`,
      'drop policy hidden on session',
    )
    await expect(openStore()).rejects.toThrow('Row-level security')
  })
})
