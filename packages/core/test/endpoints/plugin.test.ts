import type { AuthEvent, AuthFailure } from '@sallyport/core'
import { type AuthPlugin, createAuth, defineAuth, defineEndpoint, rejections } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { dumpTables } from '../support/dump-tables.ts'
import { cookieChanges, get, post } from '../support/requests.ts'
import { serveInterrupted } from '../support/serve-interrupted.ts'
import { statusOf } from '../support/status-of.ts'
import { subscribeToSession } from '../support/subscribe-to-session.ts'

interface NoteTable {
  id: string
  userId: string
  text: string
  expiresAt: string | Date
}

const reasons = {
  NOTE_EMPTY: { status: 422, message: 'Write something' },
  NOTES_CLOSED: { status: 423, message: 'Nothing can be changed now' },
} as const
const rejectNote = rejections(reasons)
let isClosed = false

/** A plugin that uses every feature. */
const notes = {
  id: 'notes',
  reasons,
  migrations: {
    async '0001_note'(schema, { timestamp }) {
      await schema
        .createTable('note')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('userId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
        .addColumn('text', 'text', (column) => column.notNull())
        .addColumn('expiresAt', timestamp, (column) => column.notNull())
        .execute()
    },
  },
  userColumns: {
    locale: { schema: z.enum(['en', 'de']), default: 'en', input: true },
    noteCount: { type: 'number', schema: z.number(), default: 0 },
    isQuiet: { type: 'flag', schema: z.boolean(), default: false, input: true },
    remindAt: { type: 'timestamp', schema: z.iso.datetime().nullable(), input: true },
    motto: { schema: z.string().nullable().default(null), input: true },
    birthday: { type: 'timestamp', schema: z.string().nullable(), input: true },
  },
  expiringTables: ['note'],
  async onChange(event, trx) {
    if (isClosed) throw rejectNote('NOTES_CLOSED')
    if (event.type !== 'session.created') return
    const note = { id: crypto.randomUUID(), userId: event.userId, text: 'Signed in', expiresAt: event.at }
    await trx.$extendTables<{ note: NoteTable }>().insertInto('note').values(note).execute()
  },
  endpoints: {
    addNote: defineEndpoint({
      method: 'POST',
      path: '/notes/add',
      caller: 'user',
      input: z.strictObject({ text: z.string() }),
      output: z.object({ id: z.string() }),
      async run({ text }, { identity: { userId }, config, change }) {
        if (text === '') throw rejectNote('NOTE_EMPTY')
        const id = crypto.randomUUID()
        const expiresAt = new Date(config.now().getTime() + 60_000)
        await change(async (trx) => {
          await trx
            .$extendTables<{ note: NoteTable }>()
            .insertInto('note')
            .values({ id, userId, text, expiresAt })
            .execute()
        })
        const unasked = { id, secret: 'of the plugin' }
        return { body: unasked }
      },
    }),
    breakNote: defineEndpoint({
      method: 'GET',
      path: '/notes/break',
      caller: 'anyone',
      input: z.object({}),
      output: z.object({ id: z.string().startsWith('note') }),
      run: async () => ({ body: { id: 'x' } }),
    }),
  },
} satisfies AuthPlugin

const events: AuthEvent[] = []
const onFailure = vi.fn<(failure: AuthFailure) => void>()
const onEvent = (event: AuthEvent) => void events.push(event)
const auth = await createTestAuth({ plugins: [notes], onEvent, onFailure })
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  isClosed = false
  ada = await auth.signIn()
  events.length = 0
  onFailure.mockClear()
})

const addNote = (body: unknown, cookie = ada.cookie) => auth.handler(post('/notes/add', body, { cookie }))
const notesOf = async (userId: string) =>
  (await dumpTables(auth)).note?.filter((note) => note.userId === userId)

describe('an endpoint of a plugin', () => {
  test('is served over HTTP and as a method, with only the members of its output', async () => {
    const response = await addNote({ text: 'over HTTP' })
    expect(response.status).toBe(200)
    expect(Object.keys(await response.json())).toEqual(['id'])
    const request = new Request('http://localhost:3000/', {
      method: 'POST',
      headers: { cookie: ada.cookie, 'x-sallyport': '1' },
    })
    expect(Object.keys(await auth.api.addNote({ request, text: 'as a method' }))).toEqual(['id'])
    expect((await notesOf(ada.userId))?.map(({ text }) => text)).toEqual([
      'Signed in',
      'over HTTP',
      'as a method',
    ])
  })

  test.each([
    ['an anonymous caller', async () => '', {}, '401 TOKEN_MISSING'],
    [
      'a banned user',
      async () => {
        await auth.ban(ada)
        return ada.cookie
      },
      { text: 'x' },
      '403 ACCOUNT_BANNED',
    ],
    ['invalid input', async () => ada.cookie, { text: 1 }, '400 INVALID_INPUT'],
    ['an extra field', async () => ada.cookie, { text: 'x', userId: 'y' }, '400 INVALID_INPUT'],
    ['its own reason', async () => ada.cookie, { text: '' }, '422 NOTE_EMPTY'],
  ])('rejects %s like any other endpoint', async (_name, cookie, body, answer) => {
    const before = await cookie().then(async (cookie) => ({ cookie, dump: await dumpTables(auth) }))
    const response = await addNote(body, before.cookie)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await statusOf(response)).toBe(answer)
    expect(await dumpTables(auth)).toEqual(before.dump)
  })

  test('responds to its own reason with its text', async () => {
    expect(await (await addNote({ text: '' })).json()).toEqual({
      code: 'NOTE_EMPTY',
      message: 'Write something',
    })
  })

  test('changes nothing if the caller was signed out meanwhile', async () => {
    const { handler, interrupt } = await serveInterrupted(auth)
    interrupt(() => auth.revoke(ada))
    const response = await handler(post('/notes/add', { text: 'x' }, { cookie: ada.cookie }))
    expect(await statusOf(response)).toBe('401 SESSION_NOT_FOUND')
    expect((await notesOf(ada.userId))?.map(({ text }) => text)).toEqual(['Signed in'])
  })

  test('is 500 and reported if its output is invalid', async () => {
    expect(await statusOf(auth.handler(get('/notes/break')))).toBe('500 INTERNAL_ERROR')
    const failure = { code: 'INTERNAL_ERROR', path: '/notes/break', step: 'endpoint', reason: null }
    expect(onFailure).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ ...failure, cause: expect.any(z.core.$ZodError) }),
    )
  })
})

describe('the columns of a plugin', () => {
  const userOf = async () => (await (await auth.handler(get('/session', { cookie: ada.cookie }))).json()).user
  const update = (body: unknown) => auth.handler(post('/update-user', body, { cookie: ada.cookie }))

  test('are returned, and changed if they are input', async () => {
    expect(await userOf()).toMatchObject({ name: 'Test User', locale: 'en', noteCount: 0 })
    const response = await update({ locale: 'de' })
    expect((await response.json()).user).toMatchObject({ locale: 'de', noteCount: 0 })
    expect(await userOf()).toMatchObject({ name: 'Test User', locale: 'de' })
  })

  test('keep their value if they are not sent, although the schema has a default', async () => {
    await update({ motto: 'Think first' })
    expect((await (await update({ name: 'Ada' })).json()).user).toMatchObject({ motto: 'Think first' })
  })

  test.each([
    [{ isQuiet: true }, { isQuiet: 1 }],
    [{ isQuiet: false }, { isQuiet: 0 }],
    [{ remindAt: '2026-12-24T18:00:00.000Z' }, { remindAt: '2026-12-24T18:00:00.000Z' }],
    [{ remindAt: null }, { remindAt: null }],
  ])('are returned unchanged for types that databases store differently: %j', async (given, stored) => {
    expect((await (await update(given)).json()).user).toMatchObject(given)
    expect(await userOf()).toMatchObject(given)
    expect((await dumpTables(auth)).user).toContainEqual(
      expect.objectContaining({ id: ada.userId, ...stored }),
    )
  })

  test.each([
    [{ noteCount: 100 }, ['noteCount']],
    [{ isQuiet: 1 }, ['isQuiet']],
    [{ remindAt: 'tomorrow' }, ['remindAt']],
    [{ locale: 'fr' }, ['locale']],
    [{ locale: null }, ['locale']],
    [{ motto: 'a\0b' }, ['motto']],
    [{ birthday: 'in spring' }, ['birthday']],
    [{ birthday: '+020000-01-01T00:00:00Z', motto: '\0' }, ['motto', 'birthday']],
    [{ locale: 'de', role: 'admin' }, ['role']],
  ])('%j is 400, and nothing changes', async (body, fields) => {
    const before = await dumpTables(auth)
    const response = await update(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'INVALID_INPUT', fields })
    expect(await dumpTables(auth)).toEqual(before)
  })
})

describe('the tables of a plugin', () => {
  test('lose their rows with the user', async () => {
    await addNote({ text: 'x' })
    expect(await notesOf(ada.userId)).toHaveLength(2)
    await auth.handler(post('/delete-user', {}, { cookie: ada.cookie }))
    expect(await notesOf(ada.userId)).toEqual([])
  })

  test("are pruned according to the plugin's expiry column", async () => {
    await addNote({ text: 'kept' })
    const report = await auth.prune()
    expect(report.note).toBeGreaterThan(0)
    expect((await notesOf(ada.userId))?.map(({ text }) => text)).toEqual(['kept'])
  })

  test('are created once, also on later opens, with one list per plugin', async () => {
    const again = await createAuth(auth.definition, auth.database, { pruneEverySeconds: 0 })
    again.close()
    const names = await sql<{ name: string }>`select name from sallyport_notes_migration`.execute(auth.db)
    expect(names.rows.map(({ name }) => name)).toEqual(['0001_note'])
  })
})

describe('onChange', () => {
  test('runs in the transaction of the change', async () => {
    const { userId } = await auth.signIn(ada)
    expect((await notesOf(userId))?.map(({ text }) => text)).toEqual(['Signed in', 'Signed in'])
  })

  test('undoes the change and its record if it throws: no event, no ended stream, and its error is the response', async () => {
    const elsewhere = await auth.signIn(ada)
    const listener = subscribeToSession(auth, elsewhere)
    const before = await dumpTables(auth)
    events.length = 0
    isClosed = true
    const response = await auth.handler(
      post('/revoke-session', { sessionId: elsewhere.sessionId }, { cookie: ada.cookie }),
    )
    expect(await response.json()).toEqual({ code: 'NOTES_CLOSED', message: 'Nothing can be changed now' })
    expect(response.status).toBe(423)
    expect(await dumpTables(auth)).toEqual(before)
    expect(events).toEqual([])
    expect(listener).not.toHaveBeenCalled()
  })

  test('also undoes changes that the app makes directly', async () => {
    isClosed = true
    const before = await dumpTables(auth)
    await expect(auth.ban(ada)).rejects.toMatchObject({ code: 'NOTES_CLOSED' })
    await expect(auth.revoke(ada)).rejects.toMatchObject({ code: 'NOTES_CLOSED' })
    await expect(auth.signIn(ada)).rejects.toMatchObject({ code: 'NOTES_CLOSED' })
    expect(await dumpTables(auth)).toEqual(before)
  })

  test("doesn't run if nothing changes", async () => {
    isClosed = true
    expect((await auth.handler(get('/sessions', { cookie: ada.cookie }))).status).toBe(200)
    expect((await auth.handler(get('/backend/token', { cookie: ada.cookie }))).status).toBe(200)
    expect((await auth.handler(post('/revoke-other-sessions', {}, { cookie: ada.cookie }))).status).toBe(200)
  })
})

test('a failed migration of a plugin is rolled back and reports its error', async () => {
  const { config, signingKeys } = auth.definition
  const broken: AuthPlugin = {
    id: 'broken',
    migrations: {
      async '0001_table'(schema) {
        await schema.createTable('halfway').addColumn('id', 'text').execute()
      },
      '0002_fails': () => Promise.reject(new Error('0002 fails')),
    },
  }
  const database = await openSqlite(':memory:')
  const definition = defineAuth({ config, signingKeys, plugins: [broken] })
  await expect(createAuth(definition, database, { pruneEverySeconds: 0 })).rejects.toThrow('0002 fails')
  expect(Object.keys(await dumpTables(database))).not.toContain('halfway')
  await database.close()
})
