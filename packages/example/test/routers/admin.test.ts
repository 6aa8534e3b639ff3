import { renderToStaticMarkup } from 'react-dom/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
  (await ada.client.admin.audit.query()).map((record) => renderToStaticMarkup(sentenceOf(record)))

test.each([
  ['users', () => grace.client.admin.users.query()],
  ['sessions', () => grace.client.admin.sessions.query({ userId: ada.userId })],
  ['audit', () => grace.client.admin.audit.query()],
])('%s is for admins alone', async (_name, ask) => {
  await expect(ask()).rejects.toMatchObject({ data: { auth: { reason: 'ROLE_REQUIRED' } } })
})

test.each([
  ['GRA', ['grace@example.com']],
  ['ada@', ['ada@example.com']],
  ['nobody', []],
  ['', ['ada@example.com', 'grace@example.com']],
])('a search for "%s" finds %j', async (search, emails) => {
  const users = await ada.client.admin.users.query({ search })
  expect(users.map(({ email }) => email)).toEqual(emails)
})

test('tells of a ban as long as it counts', async () => {
  const ban = async () => (await ada.client.admin.users.query({ search: 'grace' }))[0]?.ban
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

test('shows the sessions of a user, until one is revoked', async () => {
  const { sessions } = await ada.client.admin.sessions.query({ userId: grace.userId })
  expect(sessions).toMatchObject([{ address: '127.0.0.1', current: false }])
  await ada.api.revokeUserSession({ sessionId: sessions[0]?.id ?? '' })
  expect(await ada.client.admin.sessions.query({ userId: grace.userId })).toEqual({ sessions: [] })
  await expect(grace.client.me.query()).rejects.toMatchObject({
    data: { auth: { reason: 'SESSION_NOT_FOUND' } },
  })
})

test('the audit trail says who did what to whom, the newest first', async () => {
  const { userId } = grace
  await ada.api.setRole({ userId, role: 'admin' })
  await ada.api.setRole({ userId, role: 'user' })
  await ada.api.banUser({ userId, reason: 'Noise' })
  await ada.api.unbanUser({ userId })
  await expect(ada.api.reauthenticate({ password: 'a wrong password' })).rejects.toThrow()
  expect(await sentences()).toEqual(
    expect.arrayContaining([
      'The ban of grace@example.com was lifted by ada@example.com.',
      'grace@example.com was banned by ada@example.com for ever: Noise.',
      expect.stringMatching(
        /^grace@example\.com was banned by ada@example\.com until <time.*UTC<\/time>: Noise\.$/,
      ),
      'ada@example.com was rejected from 127.0.0.1: wrong email or password.',
      'grace@example.com was given the role user by ada@example.com, instead of admin.',
      'grace@example.com was given the role admin by ada@example.com, instead of user.',
      'A session of grace@example.com ended by ada@example.com: revoked by an admin.',
      'grace@example.com signed in from 127.0.0.1, on a new device.',
      'ada@example.com listed the sessions of grace@example.com.',
      'grace@example.com was created.',
    ]),
  )
  const moments = (await ada.client.admin.audit.query()).map(({ createdAt }) => createdAt)
  expect(moments).toEqual(moments.toSorted().toReversed())
})

test('the audit trail needs an admin who proved a moment ago who they are', async () => {
  const { userId } = ada
  const past = { lastAuthenticatedAt: new Date(Date.now() - 16 * 60_000) }
  await app.db.updateTable('session').set(past).where('userId', '=', userId).execute()
  await expect(ada.client.admin.audit.query()).rejects.toMatchObject({
    data: { httpStatus: 403, auth: { reason: 'SESSION_NOT_FRESH' } },
  })
  await ada.api.reauthenticate({ password: 'correct horse battery staple' })
  expect(await ada.client.admin.audit.query()).not.toEqual([])
})

test('the record of a deleted user stays', async () => {
  await app.db.deleteFrom('user').where('id', '=', grace.userId).execute()
  expect(await sentences()).toContain('A deleted user was created.')
})
