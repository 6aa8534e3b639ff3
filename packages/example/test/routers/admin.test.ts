import { renderToStaticMarkup } from 'react-dom/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sentenceOf } from '../../src/web/admin/sentence.tsx'
import { type OpenApp, openApp, type SignedIn } from '../open-app.ts'

let app: OpenApp
let ada: SignedIn
let grace: SignedIn
beforeAll(async () => {
  app = await openApp()
  ada = await app.signIn('ada')
  grace = await app.signIn('grace')
})
afterAll(() => app.close())

const sentences = async () =>
  (await ada.client.admin.audit.query({})).records.map((record) => renderToStaticMarkup(sentenceOf(record)))

test.each([
  ['users', () => grace.client.admin.users.query({})],
  ['user', () => grace.client.admin.user.query({ userId: ada.userId })],
  ['sessions', () => grace.client.admin.sessions.query({ userId: ada.userId })],
  ['audit', () => grace.client.admin.audit.query({})],
])('%s is for admins only', async (_name, ask) => {
  await expect(ask()).rejects.toMatchObject({ data: { auth: { reason: 'ROLE_REQUIRED' } } })
})

test.each([
  ['GRA', ['grace@example.com']],
  ['ada@', ['ada@example.com']],
  ['unknown', []],
  ['', ['grace@example.com', 'ada@example.com']],
])('a search for "%s" finds %j', async (search, emails) => {
  const { users } = await ada.client.admin.users.query({ search })
  expect(users.map(({ email }) => email)).toEqual(emails)
})

test('returns users page by page, newest first', async () => {
  const first = await ada.client.admin.users.query({ limit: 1 })
  expect(first.users.map(({ email }) => email)).toEqual(['grace@example.com'])
  const cursor = first.nextCursor ?? ''
  const second = await ada.client.admin.users.query({ limit: 1, cursor })
  expect(second).toMatchObject({ users: [{ email: 'ada@example.com' }], nextCursor: null })
})

test('returns one user, or NOT_FOUND', async () => {
  expect(await ada.client.admin.user.query({ userId: grace.userId })).toMatchObject({
    email: 'grace@example.com',
    role: 'user',
    locale: 'en',
    ban: null,
  })
  await expect(ada.client.admin.user.query({ userId: 'unknown' })).rejects.toMatchObject({
    data: { code: 'NOT_FOUND' },
  })
})

test('shows a ban while it is valid', async () => {
  const ban = async () => (await ada.client.admin.users.query({ search: 'grace' })).users[0]?.ban
  expect(await ban()).toBeNull()
  await ada.api.banUser({ userId: grace.userId, reason: 'Noise', expiresIn: 3_600 })
  const until = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  expect(await ban()).toEqual({ reason: 'Noise', until })
  const past = { banExpires: new Date(Date.now() - 1) }
  await app.db.updateTable('user').set(past).where('id', '=', grace.userId).execute()
  expect(await ban()).toBeNull()
  await ada.api.banUser({ userId: grace.userId })
  expect(await ban()).toEqual({ reason: null, until: null })
  await ada.api.unbanUser({ userId: grace.userId })
})

test('lists the sessions of a user until they are revoked', async () => {
  const { sessions } = await ada.client.admin.sessions.query({ userId: grace.userId })
  expect(sessions).toMatchObject([{ address: '127.0.0.1', current: false }])
  await ada.api.revokeUserSession({ sessionId: sessions[0]?.id ?? '' })
  expect(await ada.client.admin.sessions.query({ userId: grace.userId })).toEqual({ sessions: [] })
  await expect(grace.client.me.query()).rejects.toMatchObject({
    data: { auth: { reason: 'SESSION_NOT_FOUND' } },
  })
})

test('the audit trail describes each change, newest first', async () => {
  const { userId } = grace
  await ada.api.setRole({ userId, role: 'admin' })
  await ada.api.setRole({ userId, role: 'user' })
  await ada.api.banUser({ userId, reason: 'Noise' })
  await ada.api.unbanUser({ userId })
  await expect(ada.api.reauthenticate({ password: 'a wrong password' })).rejects.toThrow()
  expect(await sentences()).toEqual(
    expect.arrayContaining([
      'The ban of grace@example.com was lifted by ada@example.com.',
      'grace@example.com was banned by ada@example.com permanently: Noise.',
      expect.stringMatching(
        /^grace@example\.com was banned by ada@example\.com until <time .*<\/time>: Noise\.$/,
      ),
      'A sign-in of ada@example.com failed from 127.0.0.1: wrong email or password.',
      'The role of grace@example.com was changed from admin to user by ada@example.com.',
      'The role of grace@example.com was changed from user to admin by ada@example.com.',
      'A session of grace@example.com was ended by ada@example.com: revoked by an admin.',
      'grace@example.com signed in from 127.0.0.1 on a new device.',
      'ada@example.com listed the sessions of grace@example.com.',
      'grace@example.com was created.',
    ]),
  )
  const moments = (await ada.client.admin.audit.query({})).records.map(({ createdAt }) => createdAt)
  expect(moments).toEqual(moments.toSorted().toReversed())
})

describe('filters of the audit trail', () => {
  const audit = async (filters: Parameters<typeof ada.client.admin.audit.query>[0]) =>
    (await ada.client.admin.audit.query(filters)).records

  test('type', async () => {
    const types = (await audit({ type: 'user.created' })).map(({ type }) => type)
    expect(types).toEqual(['user.created', 'user.created'])
  })

  test.each([
    ['an email', () => ' Grace@example.com'],
    ['an id', () => grace.userId],
  ])('user: %s', async (_name, user) => {
    const emails = (await audit({ user: user() })).map(({ email }) => email)
    expect(new Set(emails)).toEqual(new Set(['grace@example.com']))
  })

  test('user: an unknown email finds no records', async () => {
    expect(await audit({ user: 'unknown@example.com' })).toEqual([])
  })

  test('from and to: both days are included', async () => {
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    const type = 'user.created'
    expect((await audit({ type, from: day(-1), to: day(0) })).length).toBe(2)
    expect(await audit({ type, to: day(-1) })).toEqual([])
    expect(await audit({ type, from: day(1) })).toEqual([])
  })

  test("pages don't overlap", async () => {
    const first = await ada.client.admin.audit.query({ limit: 2 })
    const second = await audit({ limit: 2, cursor: first.nextCursor ?? '' })
    const ids = [...first.records, ...second].map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThan(2)
  })
})

test('the audit trail requires a fresh session', async () => {
  const { userId } = ada
  const past = { lastAuthenticatedAt: new Date(Date.now() - 16 * 60_000) }
  await app.db.updateTable('session').set(past).where('userId', '=', userId).execute()
  await expect(ada.client.admin.audit.query({})).rejects.toMatchObject({
    data: { httpStatus: 403, auth: { reason: 'SESSION_NOT_FRESH' } },
  })
  await ada.api.reauthenticate({ password: 'correct horse battery staple' })
  expect(await ada.client.admin.audit.query({})).not.toEqual([])
})

test('the records of a deleted user are kept', async () => {
  await app.db.deleteFrom('user').where('id', '=', grace.userId).execute()
  expect(await sentences()).toEqual(
    expect.arrayContaining([
      'A deleted user was created.',
      'ada@example.com listed the sessions of a deleted user.',
    ]),
  )
})
