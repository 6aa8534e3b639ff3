import type { AuthEvent } from '@sallyport/core'
import { commit } from '@sallyport/core/auth'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { VersionCause } from '../../src/events/event.ts'
import { refreshSession } from '../../src/lifecycle/refresh-session.ts'
import { replaceCredentials } from '../../src/lifecycle/replace-credentials.ts'
import { GRACE_SECONDS } from '../../src/protocol.ts'
import { versionOfSecret } from '../../src/session/secret.ts'
import { reasonOf } from '../support/reason-of.ts'
import { collectRevocations } from '../support/revocations.ts'
import { parseSessionCookie, WRONG_COOKIES } from '../support/session-cookie.ts'

const events: AuthEvent[] = []
const auth = await createTestAuth({ onEvent: (event) => void events.push(event) })
const { config, database, db, clock } = auth
const published = collectRevocations(database.revocations)
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn()
  clock.advance(3_600)
  events.length = 0
  published.length = 0
})

type Cookie = Parameters<typeof replaceCredentials>[2]['cookie']
const replace = (
  cookie: Cookie = parseSessionCookie(ada.sessionCookie),
  { cause = 'reauthenticated', userId = ada.userId }: { cause?: VersionCause; userId?: string } = {},
) =>
  commit(database, (trx, record) =>
    replaceCredentials(trx, record, { userId, cookie, cause, now: clock.now() }),
  )
const rowOf = (id = ada.sessionId) =>
  db.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const use = (cookie: string) => reasonOf(refreshSession(parseSessionCookie(cookie), { database, config }))

/** Replaces the credentials, and returns the new session cookie. */
async function newCookie(cookie?: Cookie): Promise<string> {
  const renewed = await replace(cookie)
  if (renewed === null) throw new Error('The credentials were not replaced')
  return renewed.cookie
}

test('the session keeps its id and expiry, and gets a new version and a new secret', async () => {
  const before = await rowOf()
  const now = clock.now()
  const renewed = await replace()
  expect(renewed).toEqual({
    id: ada.sessionId,
    userId: ada.userId,
    expiresAt: new Date(before.expiresAt),
    remembered: true,
    version: 2,
    cookie: expect.stringMatching(new RegExp(`^${ada.sessionId}\\.[\\w-]{91}$`)),
  })
  expect(renewed?.cookie).not.toBe(ada.sessionCookie)
  expect(await rowOf()).toEqual({
    ...before,
    token: expect.not.stringMatching(before.token),
    version: 2,
    provedVersion: 2,
    previousToken: null,
    rotatedAt: null,
    lastAuthenticatedAt: now.toISOString(),
    updatedAt: now.toISOString(),
  })
})

test.each([
  ['another issuer owns', { issuer: 'https://id.example.com' }],
  ['has an expiry that is not a date', { expiresAt: 'zzz' }],
])('nothing changes in a session that %s', async (_fault, columns) => {
  for (const [name, value] of Object.entries(columns))
    await sql`update session set ${sql.ref(name)} = ${value} where id = ${ada.sessionId}`.execute(db)
  const before = await rowOf()
  expect(await replace()).toBeNull()
  expect(await rowOf()).toEqual(before)
  expect(events).toEqual([])
})

test('the new secret carries the new version', async () => {
  const cookie = await newCookie()
  const { tokenFamily, version } = await rowOf()
  expect(await versionOfSecret(parseSessionCookie(cookie).secret, tokenFamily ?? '')).toBe(2)
  expect(version).toBe(2)
})

test.each([
  ['password-changed', true],
  ['reauthenticated', true],
  ['copies-revoked', false],
  ['email-changed', false],
] as const)('after %s, the session is freshly authenticated: %s', async (cause, isFresh) => {
  const { lastAuthenticatedAt: before } = await rowOf()
  await replace(undefined, { cause })
  expect(await rowOf()).toMatchObject({
    lastAuthenticatedAt: isFresh ? clock.now().toISOString() : before,
    provedVersion: 2,
  })
})

test('the change is announced and recorded', async () => {
  await replace(undefined, { cause: 'copies-revoked' })
  const { sessionId, userId } = ada
  const event = { type: 'session.version-changed', userId, sessionId, cause: 'copies-revoked', version: 2 }
  expect(events).toEqual([{ ...event, at: clock.now() }])
  expect(published).toEqual([{ sessionId, userId }])
  const records = db
    .selectFrom('sallyport.audit')
    .select(['type', 'detail'])
    .where('sessionId', '=', sessionId)
  const [, record] = await records.orderBy('createdAt').execute()
  expect(record?.type).toBe('session.version-changed')
  expect(JSON.parse(record?.detail ?? '')).toEqual({ cause: 'copies-revoked', version: 2 })
})

test('changes no other session of the user', async () => {
  const other = await auth.signIn({ userId: ada.userId })
  clock.advance(60)
  const before = await rowOf(other.sessionId)
  await replace()
  expect(await rowOf(other.sessionId)).toEqual(before)
})

test('the previous secret is superseded at once, and stays so', async () => {
  const cookie = await newCookie()
  expect([await use(ada.sessionCookie), await use(cookie)]).toEqual(['SECRET_SUPERSEDED', 'accepted'])
  clock.advance(GRACE_SECONDS + 1)
  expect([await use(ada.sessionCookie), await use(cookie)]).toEqual(['SECRET_SUPERSEDED', 'accepted'])
})

test('after a second change, both earlier secrets are superseded', async () => {
  const first = await newCookie()
  const second = await newCookie(parseSessionCookie(first))
  expect(await Promise.all([ada.sessionCookie, first, second].map(use))).toEqual([
    'SECRET_SUPERSEDED',
    'SECRET_SUPERSEDED',
    'accepted',
  ])
})

test("a session that isn't remembered stays so", async () => {
  await db.updateTable('session').set({ remembered: false }).where('id', '=', ada.sessionId).execute()
  expect(await replace()).toMatchObject({ remembered: false })
})

test('a session without a family gets one', async () => {
  await db.updateTable('session').set({ tokenFamily: null }).where('id', '=', ada.sessionId).execute()
  const cookie = await newCookie()
  const { tokenFamily } = await rowOf()
  expect(await versionOfSecret(parseSessionCookie(cookie).secret, tokenFamily ?? '')).toBe(2)
})

test('accepts the secret before a rotation for 30 seconds, and the rotated one is superseded then', async () => {
  const rotating = await createTestAuth({ session: { rotateSessionToken: true } })
  const own = { database: rotating.database, config: rotating.config }
  const bob = await rotating.signIn()
  const former = parseSessionCookie(bob.sessionCookie)
  const rotated = await (await refreshSession(former, own)).advance()
  const renewal = (cookie: Cookie) =>
    commit(rotating.database, (trx, record) => {
      const { userId } = bob
      return replaceCredentials(trx, record, {
        userId,
        cookie,
        cause: 'reauthenticated',
        now: rotating.clock.now(),
      })
    })
  expect(await renewal(former)).toMatchObject({ version: 3 })
  expect(await reasonOf(refreshSession(parseSessionCookie(rotated.cookie ?? ''), own))).toBe(
    'SECRET_SUPERSEDED',
  )
  await rotating.close()
})

describe('nothing changes', () => {
  const expectUnchanged = async (act: () => Promise<unknown>) => {
    const before = await rowOf()
    expect(await act()).toBeNull()
    expect(await rowOf()).toEqual(before)
    expect([events, published]).toEqual([[], []])
  }

  test('without a session cookie, as with a bearer token', async () => {
    await expectUnchanged(() => replace(null))
  })

  test.each(WRONG_COOKIES)('with a cookie %s', async (_name, change) => {
    await expectUnchanged(() => replace(change(parseSessionCookie(ada.sessionCookie))))
  })

  test('with the cookie of another user', async () => {
    const { userId } = await auth.createUser()
    events.length = 0
    await expectUnchanged(() => replace(undefined, { userId }))
  })

  test('with the cookie of an expired session', async () => {
    await auth.expireSession(ada)
    await expectUnchanged(() => replace())
  })

  test('with a superseded secret', async () => {
    await replace()
    events.length = 0
    published.length = 0
    await expectUnchanged(() => replace())
  })

  test('if the transaction fails', async () => {
    const before = await rowOf()
    const failing = commit(database, async (trx, record) => {
      const { userId } = ada
      const cookie = parseSessionCookie(ada.sessionCookie)
      await replaceCredentials(trx, record, { userId, cookie, cause: 'reauthenticated', now: clock.now() })
      throw new Error('undone')
    })
    await expect(failing).rejects.toThrow('undone')
    expect(await rowOf()).toEqual(before)
    expect([events, published]).toEqual([[], []])
    expect(await use(ada.sessionCookie)).toBe('accepted')
  })
})
