import { commit } from '@sallyport/core/auth'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { confirmSession, rotateSecret } from '../../src/session/confirm-session.ts'
import { GRACE_SECONDS } from '../../src/session/lifetime.ts'
import { refreshSession } from '../../src/session/refresh-session.ts'
import { isOfFamily } from '../../src/session/secret.ts'
import { reasonOf } from '../support/reason-of.ts'
import { parseSessionCookie, WRONG_COOKIES } from '../support/session-cookie.ts'

const auth = await createTestAuth()
const { config, database, db, clock } = auth
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  ada = await auth.signIn()
  clock.advance(3_600)
})

type Cookie = Parameters<typeof confirmSession>[1]['sessionCookie']
const confirm = (sessionCookie: Cookie = parseSessionCookie(ada.sessionCookie)) =>
  commit(database, (trx) =>
    confirmSession(trx, { sessionId: ada.sessionId, sessionCookie, now: clock.now() }),
  )
const rotate = (former: 'counts for a moment' | 'ends') =>
  commit(database, (trx) =>
    rotateSecret(trx, {
      sessionId: ada.sessionId,
      sessionCookie: parseSessionCookie(ada.sessionCookie),
      now: clock.now(),
      former,
    }),
  )
const rowOf = (id = ada.sessionId) =>
  db.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const use = (cookie: string) => reasonOf(refreshSession(parseSessionCookie(cookie), { database, config }))

test('the session stays, its user has proved who they are now, and its secret is another', async () => {
  const before = await rowOf()
  const now = clock.now()
  const confirmed = await confirm()
  expect(confirmed).toEqual({
    expiresAt: new Date(before.expiresAt),
    remembered: true,
    cookie: expect.stringMatching(new RegExp(`^${ada.sessionId}\\.[\\w-]{43}$`)),
  })
  expect(confirmed?.cookie).not.toBe(ada.sessionCookie)
  expect(await rowOf()).toEqual({
    ...before,
    token: expect.not.stringMatching(before.token),
    previousToken: before.token,
    rotatedAt: now.toISOString(),
    lastAuthenticatedAt: now.toISOString(),
    updatedAt: now.toISOString(),
  })
  expect(await database.sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
})

test('no other session of the user is confirmed with it', async () => {
  const other = await auth.signIn({ userId: ada.userId })
  clock.advance(60)
  const before = await rowOf(other.sessionId)
  await confirm()
  expect(await rowOf(other.sessionId)).toEqual(before)
})

test('the secret before counts for a moment more, and then no longer', async () => {
  const { cookie = '' } = (await confirm()) ?? {}
  expect([await use(ada.sessionCookie), await use(cookie)]).toEqual(['accepted', 'accepted'])
  clock.advance(GRACE_SECONDS + 0.001)
  expect([await use(ada.sessionCookie), await use(cookie)]).toEqual(['SESSION_NOT_FOUND', 'accepted'])
})

describe('where the secret until now', () => {
  test('ends, a copy of it is worth nothing at once', async () => {
    const before = await rowOf()
    const { cookie = '' } = (await rotate('ends')) ?? {}
    expect([await use(ada.sessionCookie), await use(cookie)]).toEqual(['SESSION_NOT_FOUND', 'accepted'])
    expect(await rowOf()).toMatchObject({
      previousToken: null,
      rotatedAt: clock.now().toISOString(),
      lastAuthenticatedAt: before.lastAuthenticatedAt,
    })
  })

  test('ends, so do those that another request has just changed', async () => {
    const { cookie: first = '' } = (await confirm()) ?? {}
    const { cookie: second = '' } = (await rotate('ends')) ?? {}
    expect(await Promise.all([ada.sessionCookie, first, second].map(use))).toEqual([
      'SESSION_NOT_FOUND',
      'SESSION_NOT_FOUND',
      'accepted',
    ])
  })

  test('counts for a moment, both are good until then', async () => {
    const { cookie = '' } = (await rotate('counts for a moment')) ?? {}
    expect([await use(ada.sessionCookie), await use(cookie)]).toEqual(['accepted', 'accepted'])
  })
})

test('a session that is not remembered stays so', async () => {
  await db.updateTable('session').set({ remembered: false }).where('id', '=', ada.sessionId).execute()
  expect(await confirm()).toMatchObject({ remembered: false })
})

test('the secret of a family is followed by another of it', async () => {
  const rotating = await createTestAuth({ session: { rotateSessionToken: true } })
  const { sessionId, sessionCookie } = await rotating.signIn()
  const confirmed = await commit(rotating.database, (trx) =>
    confirmSession(trx, {
      sessionId,
      sessionCookie: parseSessionCookie(sessionCookie),
      now: rotating.clock.now(),
    }),
  )
  const { tokenFamily } = await rotating.db
    .selectFrom('session')
    .select('tokenFamily')
    .where('id', '=', sessionId)
    .executeTakeFirstOrThrow()
  expect(await isOfFamily(parseSessionCookie(confirmed?.cookie ?? '').secret, tokenFamily ?? '')).toBe(true)
  await rotating.close()
})

describe('nothing but the note changes', () => {
  const noted = async () => {
    const { lastAuthenticatedAt, updatedAt, ...row } = await rowOf()
    expect([lastAuthenticatedAt, updatedAt]).toEqual([clock.now().toISOString(), clock.now().toISOString()])
    return row
  }
  const unnoted = async () => {
    const { lastAuthenticatedAt: _, updatedAt: __, ...row } = await rowOf()
    return row
  }

  test('without a session cookie, as with a bearer token', async () => {
    const before = await unnoted()
    expect(await confirm(null)).toBeNull()
    expect(await noted()).toEqual(before)
  })

  test.each(WRONG_COOKIES)('with a cookie %s', async (_name, change) => {
    const before = await unnoted()
    expect(await confirm(change(parseSessionCookie(ada.sessionCookie)))).toBeNull()
    expect(await noted()).toEqual(before)
  })

  test('with the cookie of another session, which stays as it is', async () => {
    const [before, other] = [await unnoted(), await auth.signIn({ userId: ada.userId })]
    const others = await rowOf(other.sessionId)
    expect(await confirm(parseSessionCookie(other.sessionCookie))).toBeNull()
    expect(await noted()).toEqual(before)
    expect(await rowOf(other.sessionId)).toEqual(others)
  })

  test('with a secret that was rotated out before the last', async () => {
    await confirm()
    await rotate('ends')
    const before = await unnoted()
    expect(await confirm()).toBeNull()
    expect(await noted()).toEqual(before)
  })
})
