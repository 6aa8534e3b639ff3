import { sessionsOf, validateSession } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { betterAuth } from 'better-auth'
import { admin } from 'better-auth/plugins'
import { afterAll, expect, test, vi } from 'vitest'
import { createKnownTokens } from '../../src/better-auth/known-tokens.ts'
import { FAST_PASSWORDS, ORIGIN, PASSWORD, SECRET } from './create-auth.ts'
import { openScene, reasonsOf, sessionOf } from './open-scene.ts'
import { openStorage } from './open-storage.ts'

const modes = {
  'without rows': {},
  'with rows': { storeSessionInDatabase: true },
  'with preserved rows': { storeSessionInDatabase: true, preserveSessionInDatabase: true },
}

for (const [mode, session] of Object.entries(modes)) {
  const storage = openStorage()
  const scene = await openScene({ secondaryStorage: storage, session })
  afterAll(() => scene.close())
  const { api } = scene.auth
  const root = await scene.signUpAdmin()
  const [own, byRoot] = [(headers: Headers) => ({ headers }), { headers: root.headers }]
  const gone = mode === 'with preserved rows' ? 'SESSION_EXPIRED' : 'SESSION_NOT_FOUND'

  test.for<
    [name: string, reason: string, revoke: (user: typeof root, other: typeof root) => Promise<unknown>]
  >([
    ['signOut', gone, ({ headers }) => api.signOut(own(headers))],
    ['revokeSession', gone, ({ token }, { headers }) => api.revokeSession({ headers, body: { token } })],
    ['revokeSessions', gone, (_, { headers }) => api.revokeSessions(own(headers))],
    ['revokeOtherSessions', gone, (_, { headers }) => api.revokeOtherSessions(own(headers))],
    ['revokeUserSessions', gone, ({ userId }) => api.revokeUserSessions({ ...byRoot, body: { userId } })],
    ['banUser', 'ACCOUNT_BANNED', ({ userId }) => api.banUser({ ...byRoot, body: { userId } })],
    ['removeUser', 'SESSION_NOT_FOUND', ({ userId }) => api.removeUser({ ...byRoot, body: { userId } })],
    ['deleteUser', 'SESSION_NOT_FOUND', ({ headers }) => api.deleteUser({ headers, body: {} })],
  ])(`${mode}: %s ends calls and streams`, async ([name, reason, revoke]) => {
    const user = await scene.signUp()
    const streams = await scene.openStreams(user.cookie)
    const other = await scene.signIn(user.email)
    const reads = vi.spyOn(scene.db[authStore].sessions, 'findSession')
    await revoke(user, other)
    // The lease would read again after 2 s.
    expect(reads).toHaveBeenCalled()
    reads.mockRestore()
    // It ends the sessions before it deletes them, so streams may see either.
    const ofStreams = name === 'removeUser' ? [gone, reason] : [reason]
    for (const seen of await reasonsOf(streams)) expect(ofStreams).toContain(seen)
    expect(await scene.call(user.cookie)).toBe(reason)
  })

  test(`${mode}: forbidImpersonation rejects an impersonated session, which has all columns`, async () => {
    const { userId, cookie } = await scene.signUp()
    const impersonated = await api.impersonateUser({ ...byRoot, body: { userId }, returnHeaders: true })
    const { cookie: other, token } = sessionOf(impersonated.headers)
    expect(await scene.call(cookie, 'ownAccount')).toBeNull()
    expect(await scene.call(other)).toBeNull()
    expect(await scene.call(other, 'ownAccount')).toBe('ROLE_REQUIRED')
    const { internalAdapter } = await scene.auth.$context
    const { id, createdAt, userAgent } = { ...(await internalAdapter.findSession(token))?.session }
    const { sessions } = scene.db[authStore]
    const found = await sessions.findSession({ sessionId: String(id), userId })
    expect(found).toMatchObject({ impersonatedBy: root.userId, createdAt, userAgent })
    expect(found).not.toHaveProperty('token')
  })

  test(`${mode}: an outage of the storage is 503 unless rows decide`, async () => {
    const user = await scene.signUp()
    expect(await scene.call(user.cookie)).toBeNull()
    const { internalAdapter, adapter } = await scene.auth.$context
    const fail = () => Promise.reject(new Error('no connection'))
    const broken = [vi.spyOn(storage, 'get'), vi.spyOn(adapter, 'findOne')]
    for (const spy of broken) spy.mockImplementation(fail)
    await expect(internalAdapter.findSession(user.token)).rejects.toThrow()
    expect(await scene.call(user.cookie)).toBe(mode === 'without rows' ? 'SESSIONS_UNAVAILABLE' : null)
    for (const spy of broken) spy.mockRestore()
    expect(await scene.call(user.cookie)).toBeNull()
  })
}

test('a session whose token was evicted is found again, or must be proved again', async () => {
  const storage = openStorage()
  const scene = await openScene({ secondaryStorage: storage })
  const user = await scene.signUp()
  const { internalAdapter } = await scene.auth.$context
  const found = await internalAdapter.findSession(user.token)
  const key = { sessionId: String(found?.session.id), userId: user.userId }
  const { sessions } = scene.db[authStore]
  // This process has not seen the cookie.
  expect(await sessions.findSession(key)).toMatchObject({ id: key.sessionId })
  await expect(sessions.findSession({ ...key, sessionId: 'other' })).rejects.toMatchObject({
    reason: 'TOKEN_INVALID',
  })
  await scene.close()
})

test('without a database, a ban in the storage ends when its text says so', async () => {
  const storage = openStorage()
  const auth = betterAuth({
    baseURL: ORIGIN,
    secret: SECRET,
    secondaryStorage: storage,
    emailAndPassword: FAST_PASSWORDS,
    plugins: [admin()],
  })
  const { headers, response } = await auth.api.signUpEmail({
    body: { name: 'Ada', email: 'ada@example.com', password: PASSWORD },
    returnHeaders: true,
  })
  const { token } = sessionOf(headers)
  const stored = JSON.parse(storage.values.get(token) ?? '')
  const guard = betterAuthGuard(auth)
  const validate = () =>
    validateSession(
      { sessionId: stored.session.id, userId: response.user.id, version: null, issuer: ORIGIN },
      sessionsOf(guard),
    )
  const ban = (seconds: number) => {
    const user = { ...stored.user, banned: true, banExpires: new Date(Date.now() + seconds * 1_000) }
    storage.values.set(token, JSON.stringify({ ...stored, user }))
  }
  ban(60)
  await expect(validate()).rejects.toMatchObject({ reason: 'ACCOUNT_BANNED' })
  ban(-60)
  expect(await validate()).toMatchObject({ user: { name: 'Ada' } })
  await guard.close()
})

test('without rows, each call reads the user from the database, with one query', async () => {
  const scene = await openScene({ secondaryStorage: openStorage() })
  const { cookie, userId, token } = await scene.signUp()
  expect(await scene.call(cookie)).toBeNull()
  const { adapter, internalAdapter } = await scene.auth.$context
  const queries = vi.spyOn(adapter, 'findOne')
  expect(await scene.call(cookie)).toBeNull()
  expect(queries.mock.calls).toEqual([[{ model: 'user', where: [{ field: 'id', value: userId }] }]])
  const sessionId = String((await internalAdapter.findSession(token))?.session.id)
  scene.database.exec(`update user set role = 'admin'`)
  const found = await scene.db[authStore].sessions.findSession({ sessionId, userId })
  expect(found).toMatchObject({ user: { role: 'admin' } })
  scene.database.exec('update user set banned = 1')
  expect(await scene.call(cookie)).toBe('ACCOUNT_BANNED')
  scene.database.exec('delete from user')
  expect(await scene.call(cookie)).toBe('SESSION_NOT_FOUND')
  await scene.close()
})

test('a storage keeps its results, errors, and keys, also without promises', async () => {
  const values = new Map<unknown, string>()
  const storage = {
    ...openStorage(),
    get: (key: string) => values.get(key) ?? null,
    set: (key: unknown, value: string) => void values.set(key, value),
    delete(key: unknown) {
      if (key === 'broken') throw new Error('broken')
      return values.delete(key) ? 'deleted' : null
    },
  }
  const scene = await openScene({ secondaryStorage: storage })
  const { token, cookie } = await scene.signUp()
  expect(await scene.call(cookie)).toBeNull()
  expect(storage.set(5, 'five')).toBeUndefined()
  expect(storage.delete(5)).toBe('deleted')
  expect(() => storage.delete('broken')).toThrow('broken')
  const published = vi.spyOn(scene.db[authStore].revocations, 'publish')
  expect(storage.delete(token)).toBe('deleted')
  expect(published).toHaveBeenCalledTimes(1)
  await scene.close()
})

test('tokens are bounded, and the oldest is evicted first', () => {
  const tokens = createKnownTokens(2)
  const key = (sessionId: string) => ({ sessionId, userId: 'u' })
  for (const id of ['a', 'b', 'a', 'c']) tokens.add(`token of ${id}`, key(id))
  expect(['a', 'b', 'c'].map(tokens.tokenOf)).toEqual(['token of a', undefined, 'token of c'])
  expect(tokens.sessionOf('token of b')).toBeUndefined()
  expect(tokens.sessionOf('token of a')).toEqual(key('a'))
  const renewed = createKnownTokens(2)
  for (const token of ['old', 'new']) renewed.add(token, key('a'))
  expect(['old', 'new'].map(renewed.sessionOf)).toEqual([undefined, key('a')])
})

test('after close, calls get 503', async () => {
  const scene = await openScene({ secondaryStorage: openStorage() })
  const { cookie } = await scene.signUp()
  expect(await scene.call(cookie)).toBeNull()
  await scene.guard.close()
  expect(await scene.call(cookie)).toBe('SESSIONS_UNAVAILABLE')
  await scene.close()
})
