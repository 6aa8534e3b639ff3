import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { AuthError, type AuthFailure, defineAuthConfig, sessionsOf, staticJwks } from '@sallyport/core'
import { createAuth, defineAuth, type LazyAuthOptions } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import * as z from 'zod'
import { columnsOf } from '../../src/database/schema/columns.ts'
import { authStore } from '../../src/session/auth-store.ts'
import { eventually } from '../support/eventually.ts'
import { reasonOf } from '../support/reason-of.ts'
import { get, post } from '../support/requests.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
const url = `file:${directory}/app.db`
const failures: unknown[] = []
const onFailure = ({ cause }: AuthFailure) => void failures.push(cause)
const app = await createTestAuth({ databaseUrl: url, onFailure })
afterAll(() => app.close())
const { definition } = app
const ada = await app.signIn()
const request = new Request(app.config.baseUrl, { headers: { cookie: ada.cookie } })

/** Opens the file of the test, and records what is open. `fault` makes it fail. */
function source() {
  const state = { fault: null as Error | null, opened: 0, closed: 0 }
  async function open(options: Parameters<typeof openSqlite>[1] = {}) {
    state.opened++
    if (state.fault !== null) throw state.fault
    const database = await openSqlite(url, options)
    return {
      ...database,
      async close() {
        state.closed++
        await database.close()
      },
    }
  }
  return { state, open }
}

const options: LazyAuthOptions = { pruneEverySeconds: 0 }
const closers: (() => Promise<void>)[] = []
beforeEach(() => void failures.splice(0))
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closers.splice(0)) await close()
})

function createLazy(open: ReturnType<typeof source>['open'], more: LazyAuthOptions = {}) {
  const auth = createAuth(definition, () => open(), { ...options, ...more })
  closers.push(auth.close)
  return auth
}

describe('importing the modules of an app', () => {
  const module = fileURLToPath(new URL('../fixtures/import-lazy-auth.ts', import.meta.url))
  const { NODE_COMPILE_CACHE } = process.env
  const run = async (env: Record<string, string>) => {
    const { stdout } = await promisify(execFile)(process.execPath, [module], {
      env: { ...env, NODE_COMPILE_CACHE },
    })
    return JSON.parse(stdout)
  }

  test('reads no environment variable, opens nothing, and leaves it to ready(), which names all that is missing at once', async () => {
    const { imported, ready } = await run({})
    expect(imported).toEqual({ reads: [], opened: 0 })
    expect(ready.problem).toMatch(/^ConfigurationError: JWKS is .*\nSIGNING_KEYS is .*\nThe URL is .*$/)
    expect(ready.reads).toEqual(['BASE_URL', 'DATABASE_URL', 'JWKS', 'SIGNING_KEYS'].sort())
  })

  test('and close() closes what ready() opened', async () => {
    const { signingKeys } = definition
    const env = {
      BASE_URL: 'http://localhost:3000',
      JWKS: JSON.stringify(signingKeys.publicJwks),
      SIGNING_KEYS: '',
      DATABASE_URL: `file:${directory}/imported.db`,
    }
    const { ready, left } = await run(env)
    expect(ready.problem).toMatch(/^ConfigurationError: SIGNING_KEYS/)
    expect(existsSync(`${directory}/imported.db`)).toBe(true)
    expect({ files: ready.files, left }).toEqual({ files: 0, left: 0 })
  })
})

describe('the first use', () => {
  test('opens the database once for 50 concurrent callers of every kind', async () => {
    const { state, open } = source()
    const auth = createLazy(open)
    expect(state.opened).toBe(0)
    const key = { sessionId: ada.sessionId, userId: ada.userId }
    const calls = Array.from({ length: 10 }, () => [
      auth.handler(get('/jwks')).then(({ status }) => status),
      auth.api.getSession({ request }).then(({ session }) => session.id),
      Promise.resolve(sessionsOf(auth.db).findSession(key)).then((found) => found?.id),
      auth.ready(),
      auth.db[authStore].limits?.consume('test', { points: 100, duration: 60 }),
    ])
    expect(await Promise.all(calls.flat())).toEqual(
      Array(10).fill([200, ada.sessionId, ada.sessionId, undefined, null]).flat(),
    )
    expect(state).toMatchObject({ opened: 1, closed: 0 })
    expect(failures).toEqual([])
  })

  test('makes db, store, and database those of the database', async () => {
    const auth = createLazy(source().open)
    const { db: before, store } = auth
    await auth.ready()
    expect(auth.db).not.toBe(before)
    expect(auth.db[authStore]).toBe(before[authStore])
    expect(store.revocations).toBe(auth.database.revocations)
    expect(store.sessions).toBe(auth.database.sessions)
    for (const db of [auth.db, before])
      expect(await db.selectFrom('user').select('id').execute()).toEqual([{ id: ada.userId }])
  })

  test('by a query of the app throws 503, and opens the database for the next', async () => {
    const { state, open } = source()
    const auth = createLazy(open)
    const unavailable = expect.objectContaining({ reason: 'SESSIONS_UNAVAILABLE' })
    expect(() => auth.db.selectFrom('user')).toThrow(unavailable)
    expect(() => auth.database).toThrow(unavailable)
    await eventually(() => auth.database)
    expect(state.opened).toBe(1)
  })
})

describe('an outage at the first use', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))

  test('is 503 for every caller, logged once, and over with the next attempt', async () => {
    const { state, open } = source()
    state.fault = new Error('connect ECONNREFUSED')
    const auth = createLazy(open)
    const { findSession } = sessionsOf(auth.db)
    const calls = Array.from({ length: 25 }, () => [
      reasonOf(auth.api.getSession({ request })),
      reasonOf((async () => findSession({ sessionId: ada.sessionId, userId: ada.userId }))()),
    ])
    expect(new Set(await Promise.all(calls.flat()))).toEqual(new Set(['SESSIONS_UNAVAILABLE']))
    const response = await auth.handler(
      post('/sign-out', {}, { cookie: ada.cookie, origin: app.config.issuer }),
    )
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'SESSIONS_UNAVAILABLE' })
    expect(response.headers.getSetCookie()).toEqual([])
    expect(response.headers.get('access-control-allow-origin')).toBe(app.config.issuer)
    expect(new Set(failures)).toEqual(new Set([state.fault]))
    expect(state.opened).toBe(1)

    state.fault = null
    vi.advanceTimersByTime(999)
    expect(await reasonOf(auth.api.getSession({ request }))).toBe('SESSIONS_UNAVAILABLE')
    vi.advanceTimersByTime(1)
    expect(await reasonOf(auth.api.getSession({ request }))).toBe('accepted')
    expect(state).toMatchObject({ opened: 2, closed: 0 })
  })

  test('closes a database whose tables could not be prepared', async () => {
    const { state, open } = source()
    const broken = { id: 'broken', migrations: { '0001': () => Promise.reject(new Error('disk full')) } }
    const auth = createAuth({ ...definition, plugins: [broken] }, () => open(), options)
    await expect(auth.ready()).rejects.toThrow(/^[^\n]*disk full$/)
    expect(state).toMatchObject({ opened: 1, closed: 1 })
  })
})

describe('ready()', () => {
  test('resolves for keys, configuration, and database that work', async () => {
    const auth = await createAuth(definition, app.database, options)
    expect(await auth.ready()).toBe(undefined)
  })

  test('reports every problem of configuration, keys, and database at once', async () => {
    const { state, open } = source()
    state.fault = new Error('connect ECONNREFUSED')
    const config = defineAuthConfig(() => ({
      baseUrl: 'nowhere',
      jwks: staticJwks(definition.signingKeys.publicJwks),
      cookiePrefix: 'a b',
    }))
    const auth = createAuth(defineAuth({ config, signingKeys: () => undefined }), () => open(), options)
    const lines = await auth.ready().then(
      () => [],
      (error: Error) => error.message.split('\n'),
    )
    expect(lines.map((line) => line.split(' ')[0])).toEqual([
      'baseUrl',
      'cookiePrefix',
      'SIGNING_KEYS',
      'SESSIONS_UNAVAILABLE:',
    ])
    expect(lines.at(-1)).toMatch(/: connect ECONNREFUSED$/)
  })

  test.each([
    { problem: 'keys of another set', signingKeys: 'other', expected: /^SIGNING_KEYS: .* not in JWKS/ },
    { problem: 'an unreadable key', signingKeys: 'broken', expected: /^SIGNING_KEYS/ },
  ])('rejects $problem', async ({ signingKeys, expected }) => {
    const other = await createTestAuth()
    const keys = signingKeys === 'other' ? other.definition.signingKeys : '{"keys":[{}]}'
    const wrong = defineAuth({ config: app.config, signingKeys: () => keys })
    const auth = createAuth(wrong, () => source().open(), options)
    await expect(auth.ready()).rejects.toThrow(expected)
    await other.close()
  })

  test('rejects when a database that was open is gone', async () => {
    const gone = await createTestAuth()
    await gone.ready()
    await gone.close()
    await expect(gone.ready()).rejects.toThrow(expect.objectContaining({ name: 'ConfigurationError' }))
  })
})

test('an invalid configuration is a 500 without cookies or CORS, reported for each request', async () => {
  const config = defineAuthConfig(() => ({ baseUrl: '', jwks: staticJwks(undefined) }))
  const auth = createAuth(
    defineAuth({ config, signingKeys: () => undefined }),
    () => source().open(),
    options,
  )
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => printed.mockRestore())
  for (const path of ['/token', '/nowhere']) {
    const response = await auth.handler(get(path, { origin: 'http://localhost:3000', cookie: ada.cookie }))
    expect(response.status).toBe(500)
    expect([...response.headers.keys()].sort()).toEqual(
      ['cache-control', 'content-type', 'vary', 'x-content-type-options'].sort(),
    )
  }
  const problem = expect.objectContaining({ name: 'ConfigurationError' })
  await eventually(() =>
    expect(printed.mock.calls).toEqual([['sallyport: CONFIGURATION_INVALID in endpoint', problem]]),
  )
})

test('an invalid configuration fails every part of a health check, and rejects nothing else', async () => {
  const config = defineAuthConfig(() => ({ baseUrl: '', jwks: staticJwks(undefined), onFailure: () => {} }))
  const auth = createAuth(
    defineAuth({ config, signingKeys: () => undefined }),
    () => source().open(),
    options,
  )
  vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => void vi.restoreAllMocks())
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  onTestFinished(() => void process.off('unhandledRejection', unhandled))
  const code = 'CONFIGURATION_INVALID'
  expect(await auth.readiness()).toEqual({ read: code, write: code, feed: code, keys: code, clock: code })
  await auth.ready().catch(() => {})
  await setImmediate()
  expect(unhandled).not.toHaveBeenCalled()
})

describe('close()', () => {
  test('during the opening closes the database once, and rejects those who wait', async () => {
    const { state, open } = source()
    const auth = createLazy(open)
    const waiting = reasonOf(auth.api.getSession({ request }))
    await Promise.all([auth.close(), auth.close()])
    expect(state.closed).toBe(1)
    expect(await waiting).toBe('SESSIONS_UNAVAILABLE')
    expect(state).toMatchObject({ opened: 1, closed: 1 })
    expect(failures).toEqual([])
  })

  test('ends it for good: later calls are 503 and open nothing', async () => {
    const { state, open } = source()
    const auth = createLazy(open)
    await auth.ready()
    await auth.close()
    await auth.close()
    expect(await reasonOf(auth.api.getSession({ request }))).toBe('SESSIONS_UNAVAILABLE')
    expect(() => auth.database).toThrow()
    expect(state).toMatchObject({ opened: 1, closed: 1 })
  })

  test('before the first use opens nothing, then or later', async () => {
    const { state, open } = source()
    const auth = createLazy(open)
    await auth.close()
    expect(await reasonOf(auth.api.getSession({ request }))).toBe('SESSIONS_UNAVAILABLE')
    expect(state.opened).toBe(0)
  })

  test('stops the timers', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const auth = createLazy(source().open, { pruneEverySeconds: 60 })
    await auth.ready()
    expect(vi.getTimerCount()).toBeGreaterThan(0)
    await auth.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('leaves a database open that was passed open', async () => {
    const auth = await createAuth(definition, app.database, options)
    await auth.close()
    expect(await reasonOf(auth.api.getSession({ request }))).toBe('accepted')
  })
})

describe('modules with the same name', () => {
  const name = 'test'

  test('share one database and one timer, also after hot reloads', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { state, open } = source()
    const timers: number[] = []
    for (let reload = 0; reload < 5; reload++) {
      await createLazy(open, { name, pruneEverySeconds: 60 }).ready()
      timers.push(vi.getTimerCount())
    }
    expect(state).toMatchObject({ opened: 1, closed: 0 })
    expect(new Set(timers).size).toBe(1)
  })

  test('query what another has opened at once', async () => {
    const { state, open } = source()
    await createLazy(open, { name }).ready()
    const { db } = createLazy(open, { name })
    expect(await db.selectFrom('user').select('id').execute()).toEqual([{ id: ada.userId }])
    expect(state.opened).toBe(1)
  })

  test('open it once, even concurrently', async () => {
    const { state, open } = source()
    const auths = Array.from({ length: 5 }, () => createLazy(open, { name }))
    await Promise.all(auths.map((auth) => auth.ready()))
    expect(state.opened).toBe(1)
  })

  test('do not share a failure, nor a database that is closed', async () => {
    const { state, open } = source()
    state.fault = new Error('connect ECONNREFUSED')
    await expect(createLazy(open, { name }).ready()).rejects.toThrow(/ECONNREFUSED/)
    state.fault = null
    const auth = createLazy(open, { name })
    await auth.ready()
    await auth.close()
    await createLazy(open, { name }).ready()
    expect(state).toMatchObject({ opened: 3, closed: 1 })
  })

  test.each([
    ['origin', { baseUrl: 'https://other.example.com' }],
    ['cookie prefix', { cookiePrefix: 'other' }],
  ])('open their own if they are apps with another %s', async (_name, changed) => {
    const { state, open } = source()
    await createLazy(open, { name }).ready()
    const { baseUrl } = definition.config
    const jwks = staticJwks(app.definition.signingKeys.publicJwks)
    const config = defineAuthConfig({ baseUrl, jwks, ...changed })
    const other = defineAuth({ config, signingKeys: app.definition.signingKeys })
    const auth = createAuth(other, open, { ...options, name })
    closers.push(auth.close)
    expect(() => auth.db.selectFrom('user')).toThrow(AuthError)
    await auth.ready()
    expect(state).toMatchObject({ opened: 2, closed: 0 })
  })

  test('replace a database without a column that a new version adds', async () => {
    const { state, open } = source()
    const former = createLazy(open, { name })
    await former.ready()
    const { config, signingKeys } = definition
    const user = { additionalFields: { nickname: { schema: z.string().nullable() } } }
    const changed = defineAuth({ config, signingKeys, user })
    const auth = createAuth(changed, () => open({ columns: columnsOf(changed) }), { ...options, name })
    closers.push(auth.close)
    await auth.ready()
    expect(state).toMatchObject({ opened: 2, closed: 1 })
  })

  test('keep the database of another when their own preparation fails for a moment', async () => {
    const { state, open } = source()
    const auth = createLazy(open, { name })
    await auth.ready()
    const broken = { id: 'broken', migrations: { '0001': () => Promise.reject(new Error('disk full')) } }
    const second = createAuth({ ...definition, plugins: [broken] }, () => open(), { ...options, name })
    await expect(second.ready()).rejects.toThrow(/disk full/)
    expect(state).toMatchObject({ opened: 1, closed: 0 })
    expect(await reasonOf(auth.api.getSession({ request }))).toBe('accepted')
  })

  test('without a name share nothing', async () => {
    const { state, open } = source()
    await createLazy(open).ready()
    await createLazy(open).ready()
    expect(state.opened).toBe(2)
  })
})
