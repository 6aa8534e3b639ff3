import { authStore } from '@sallyport/core/internal/server'
import { afterAll, expect, test, vi } from 'vitest'
import { rejectBanned } from '../../src/better-auth/reject-banned.ts'
import { createSource } from '../../src/better-auth/source.ts'
import { openScene } from './open-scene.ts'

const scene = await openScene()
afterAll(() => scene.close())
const { api } = scene.auth
const root = await scene.signUpAdmin()
const { adapter } = await scene.auth.$context

const ban = (userId: string, banExpiresIn?: number) =>
  api.banUser({ headers: root.headers, body: { userId, ...(banExpiresIn && { banExpiresIn }) } })

test('a banned user gets ACCOUNT_BANNED, although Better Auth deleted the sessions', async () => {
  const user = await scene.signUp()
  expect(await scene.call(user.cookie)).toBeNull()
  await ban(user.userId)
  expect(await scene.call(user.cookie)).toBe('ACCOUNT_BANNED')
  await api.unbanUser({ headers: root.headers, body: { userId: user.userId } })
  expect(await scene.call(user.cookie)).toBe('SESSION_NOT_FOUND')
})

test('a process that has not seen the cookie responds with SESSION_NOT_FOUND', async () => {
  const user = await scene.signUp()
  await ban(user.userId)
  expect(await scene.call(user.cookie)).toBe('SESSION_NOT_FOUND')
})

test('a ban that has ended is none', async () => {
  const user = await scene.signUp()
  expect(await scene.call(user.cookie)).toBeNull()
  await ban(user.userId, 60)
  expect(await scene.call(user.cookie)).toBe('ACCOUNT_BANNED')
  await adapter.update({
    model: 'user',
    where: [{ field: 'id', value: user.userId }],
    update: { banExpires: new Date(Date.now() - 1_000) },
  })
  expect(await scene.call(user.cookie)).toBe('SESSION_NOT_FOUND')
})

test('the user is read only if there is no session, and a failed read is 503', async () => {
  const user = await scene.signUp()
  const { sessions } = scene.db[authStore]
  const { internalAdapter } = await scene.auth.$context
  const found = await internalAdapter.findSession(user.token)
  const key = { sessionId: String(found?.session.id), userId: user.userId }
  expect(await scene.call(user.cookie)).toBeNull()
  const findOne = vi.spyOn(adapter, 'findOne')
  await sessions.findSession(key)
  const whileSignedIn = findOne.mock.calls.length
  await api.signOut({ headers: user.headers })
  findOne.mockClear()
  await sessions.findSession(key)
  expect(findOne.mock.calls.filter(([{ model }]) => model === 'user')).toHaveLength(1)
  expect(whileSignedIn).toBeLessThanOrEqual(2)
  findOne.mockRestore()
  const failing = vi.spyOn(adapter, 'findOne').mockImplementation(async ({ model }) => {
    if (model === 'user') throw new Error('no connection')
    return null
  })
  expect(await scene.call(user.cookie)).toBe('SESSIONS_UNAVAILABLE')
  failing.mockRestore()
})

test('a store that responds at once is checked too', async () => {
  const user = await scene.signUp()
  await ban(user.userId)
  const source = createSource(scene.auth, () => {})
  const sessions = rejectBanned({ findSession: () => null }, { source, now: () => new Date() })
  const key = { sessionId: 'deleted', userId: user.userId }
  await expect(sessions.findSession(key)).rejects.toMatchObject({ reason: 'ACCOUNT_BANNED' })
})

test.each([
  ['is missing', { banned: null }, null],
  ['is 0', { banned: 0 }, null],
  ['is 1', { banned: 1 }, 'ACCOUNT_BANNED'],
  ['is text', { banned: 'false' }, 'ACCOUNT_BANNED'],
  ['is empty', { banned: '' }, 'ACCOUNT_BANNED'],
  ['has an unreadable end', { banned: true, banExpires: 'soon' }, 'ACCOUNT_BANNED'],
])('without a session, a ban that %s', async (_name, user, expected) => {
  const findOne = vi.spyOn(adapter, 'findOne').mockResolvedValueOnce(user)
  const source = createSource(scene.auth, () => {})
  const sessions = rejectBanned({ findSession: () => null }, { source, now: () => new Date() })
  const found = Promise.resolve(sessions.findSession({ sessionId: 'deleted', userId: 'any' }))
  expect(await found.catch(({ reason }) => reason)).toBe(expected)
  findOne.mockRestore()
})
