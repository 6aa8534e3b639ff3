import { join } from 'node:path'
import { validateSession } from '@sallyport/core'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sqliteSessions } from '../../../src/database/sqlite/sessions.ts'
import type { SessionStore } from '../../../src/session/session-store.ts'
import { type Child, startFixture } from '../../support/child-process.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const path = join(temporaryDirectory(), 'app.db')
const auth = await createTestAuth({ databaseUrl: path })
const { userId } = await auth.createUser()
afterAll(() => auth.close())

let ada: TestSession
let bob: TestSession
let reader: Database.Database
let sessions: SessionStore
/** The first words of the statements that the reader ran. */
let statements: string[]

beforeEach(async () => {
  ada = await auth.signIn({ userId })
  bob = await auth.signIn({ userId })
  statements = []
  const verbose = (statement?: unknown) =>
    statements.push(/^\S+/.exec(String(statement).trim())?.[0].toLowerCase() ?? '')
  reader = new Database(path, { readonly: true, verbose })
  sessions = sqliteSessions(reader)
})
afterEach(() => {
  reader.close()
})

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
const idOf = async (key: { sessionId: string; userId: string }) =>
  (await sessions.findSession(key))?.id ?? null

/** A session row changed by hand, since no code of ours would write it so. */
async function withWriter(change: (writer: Database.Database) => void): Promise<void> {
  const writer = new Database(path)
  change(writer)
  writer.close()
}

test('a session is found by its id and its user together', async () => {
  expect(await sessions.findSession(ada)).toMatchObject({
    id: ada.sessionId,
    userId,
    expiresAt: new Date(auth.clock.now().getTime() + auth.config.sessionLifetimeSeconds * 1000),
    lastAuthenticatedAt: auth.clock.now().toISOString(),
    user: { id: userId, name: 'Test User', role: 'user' },
    ban: null,
  })
})

test('what is found holds no secret', async () => {
  const found = JSON.stringify(await sessions.findSession(ada))
  expect(found).not.toContain('sha256:')
  expect(found).not.toContain(ada.sessionCookie.split('.')[1])
})

test("another user's session is not found", async () => {
  const eve = await auth.createUser()
  expect(await idOf({ sessionId: ada.sessionId, userId: eve.userId })).toBeNull()
})

describe('an id that no session can have is not found, rather than an error', () => {
  test.each([
    ['empty', ''],
    ['a space', ' '],
    ['a quote', "'"],
    ['SQL', "' or '1'='1"],
    ['a comment', '--'],
    ['a wildcard', '%'],
    ['a null character', '\u0000'],
    ['an emoji', '🛑'],
    ['half an emoji', '\ud83d'],
    ['10 kB', 'x'.repeat(10_240)],
    ['a number', '1'],
    ['a UUID', crypto.randomUUID()],
  ])('%s', async (_name, id) => {
    expect(await idOf({ sessionId: id, userId })).toBeNull()
    expect(await idOf({ sessionId: ada.sessionId, userId: id })).toBeNull()
    expect(await sessions.findToken(id)).toBeNull()
  })

  test.each([
    ['in capitals', (id: string) => id.toUpperCase()],
    ['with a space after it', (id: string) => `${id} `],
    ['with a null character after it', (id: string) => `${id}\u0000`],
    ['cut short', (id: string) => id.slice(0, -1)],
  ])('the id of a session %s', async (_name, change) => {
    expect(await idOf({ sessionId: change(ada.sessionId), userId })).toBeNull()
  })

  test('an id of any characters is found where there is such a session', async () => {
    const id = `'"é🛑 ${'x'.repeat(1000)}`
    await withWriter((writer) =>
      writer.prepare('update session set id = ? where id = ?').run(id, ada.sessionId),
    )
    expect(await idOf({ sessionId: id, userId })).toBe(id)
  })
})

describe('what stands in the row', () => {
  const inHour = () => new Date(auth.clock.now().getTime() + 3_600_000).toISOString()

  test.each([
    ['an expiry that is no date', 'session', { expiresAt: 'soon' }, 'SESSION_EXPIRED'],
    ['an empty expiry', 'session', { expiresAt: '' }, 'SESSION_EXPIRED'],
    ['a ban', 'user', { banned: 1 }, 'ACCOUNT_BANNED'],
    ['a ban that ends in an hour', 'user', { banned: 1, banExpires: inHour() }, 'ACCOUNT_BANNED'],
    ['a ban that ends at no date', 'user', { banned: 1, banExpires: 'soon' }, 'ACCOUNT_BANNED'],
    ['a ban that has ended', 'user', { banned: 1, banExpires: '2000-01-01T00:00:00.000Z' }, 'accepted'],
    ['no ban', 'user', { banned: 0 }, 'accepted'],
  ] as const)('decides: %s', async (_name, table, values, reason) => {
    const carol = await auth.signIn()
    const id = table === 'user' ? carol.userId : carol.sessionId
    await withWriter((writer) => {
      for (const [column, value] of Object.entries(values)) {
        writer.prepare(`update "${table}" set "${column}" = ? where id = ?`).run(value, id)
      }
    })
    expect(await reasonOf(validateSession(carol, sessions, auth.config))).toBe(reason)
  })

  test('is read anew every time', async () => {
    const carol = await auth.signIn()
    expect(await sessions.findSession(carol)).toMatchObject({ user: { role: 'user' } })
    await auth.db.updateTable('user').set({ role: 'admin' }).where('id', '=', carol.userId).execute()
    expect(await sessions.findSession(carol)).toMatchObject({ user: { role: 'admin' } })
  })
})

describe('the data of a session cookie is found by the id only', () => {
  test('with the owner, and the secret as a hash', async () => {
    const now = auth.clock.now()
    expect(await sessions.findToken(ada.sessionId)).toEqual({
      userId,
      token: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      previousToken: null,
      rotatedAt: null,
      tokenFamily: expect.stringMatching(/^[\w-]{43}$/),
      version: 1,
      provedVersion: 1,
      expiresAt: new Date(now.getTime() + auth.config.sessionLifetimeSeconds * 1000),
      createdAt: now,
      lastSeenAt: now,
      remembered: true,
    })
  })

  test('as it is after a rotation, and for a session that is not remembered', async () => {
    const changed = {
      previousToken: 'sha256:previous',
      rotatedAt: new Date('2026-11-21T10:00:00.007Z'),
      tokenFamily: 'family',
      expiresAt: new Date('2026-11-22T10:00:00.007Z'),
      createdAt: new Date('2026-11-20T10:00:00.007Z'),
      lastSeenAt: new Date('2026-11-21T09:00:00.007Z'),
      remembered: false,
    }
    await auth.db.updateTable('session').set(changed).where('id', '=', ada.sessionId).execute()
    expect(await sessions.findToken(ada.sessionId)).toMatchObject(changed)
  })
})

describe('lookups of one turn of the event loop', () => {
  /** A turn that brought several lookups, so that those of the next one run together. */
  async function makeBusy(): Promise<void> {
    await Promise.all([idOf(ada), idOf(bob)])
    await nextTurn()
    statements.length = 0
  }

  test('share one read transaction when there are several, turn after turn', async () => {
    await makeBusy()
    for (let turn = 0; turn < 3; turn++) {
      const found = await Promise.all([idOf(ada), idOf(bob), idOf({ sessionId: 'none', userId })])
      expect(found).toEqual([ada.sessionId, bob.sessionId, null])
      expect(statements.splice(0)).toEqual(['begin', 'select', 'select', 'select', 'commit'])
    }
  })

  test('leave no transaction open', async () => {
    await makeBusy()
    const found = Promise.all([idOf(ada), idOf(bob)])
    expect(reader.inTransaction).toBe(false)
    await found
    expect(reader.inTransaction).toBe(false)
  })

  test('need no transaction when they come one by one', async () => {
    for (let turn = 0; turn < 3; turn++) {
      expect(await idOf(ada)).toBe(ada.sessionId)
      await nextTurn()
    }
    expect(statements.filter((word) => word !== 'select')).toEqual([])
  })

  test('each see every write that was committed before they were called', async () => {
    await makeBusy()
    const first = idOf(bob)
    await withWriter((writer) => writer.prepare('delete from session where id = ?').run(ada.sessionId))
    expect(await Promise.all([first, idOf(ada)])).toEqual([bob.sessionId, null])
  })

  test('see a write of the write queue as soon as it is acknowledged', async () => {
    for (let i = 0; i < 10; i++) {
      const carol = await auth.signIn({ userId })
      expect(await idOf(carol)).toBe(carol.sessionId)
      await auth.revoke(carol)
      expect(await idOf(carol)).toBeNull()
      await Promise.all([idOf(ada), idOf(bob)])
    }
  })

  /** Whether each lookup fails, by itself or at once. */
  const failures = async (lookups: Promise<unknown>[]) =>
    (await Promise.allSettled(lookups)).map(({ status }) => status === 'rejected')

  test.each([
    ['one by one', async () => {}],
    ['together', makeBusy],
  ])('all fail when the connection is closed, coming %s', async (_name, given) => {
    await given()
    reader.close()
    expect(await failures([idOf(ada), idOf(bob)])).toEqual([true, true])
  })

  test('leave no transaction open when one of them fails', async () => {
    await makeBusy()
    const malformed = JSON.parse('{"sessionId":{},"userId":"x"}')
    expect(await failures([idOf(ada), idOf(malformed)])).toEqual([false, true])
    expect(reader.inTransaction).toBe(false)
    expect(await Promise.all([idOf(ada), idOf(bob)])).toEqual([ada.sessionId, bob.sessionId])
  })

  test('return in memory too while a transaction is open on the only connection', async () => {
    const memory = await createTestAuth()
    const carol = await memory.signIn()
    const twice = () => Promise.all([1, 2].map(() => memory.database.sessions.findSession(carol)))
    await twice()
    await nextTurn()
    await memory.db.transaction().execute(async (trx) => {
      await trx.deleteFrom('account').execute()
      expect(await twice()).toEqual(Array(2).fill(expect.objectContaining({ id: carol.sessionId })))
    })
    await memory.close()
  })

  test('that wait while the connection is closed all fail', async () => {
    await makeBusy()
    const lookups = [idOf(ada), idOf(bob)]
    reader.close()
    expect(await failures(lookups)).toEqual([true, true])
  })
})

describe('while another process holds the write lock', () => {
  let writer: Child
  beforeEach(async () => {
    writer = startFixture('holdWriteLock', path)
    expect(await writer.heard()).toBe('held')
  })
  afterEach(() => writer.kill())

  test('Step 2 returns what was committed before', async () => {
    const found = await Promise.all([auth.database.sessions.findSession(ada), idOf(ada), idOf(bob)])
    expect(found).toEqual([expect.objectContaining({ id: ada.sessionId }), ada.sessionId, bob.sessionId])
  })
})
