import { authStore } from '@sallyport/core/internal/server'
import { drain } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { afterAll, expect, test, vi } from 'vitest'
import { PASSWORD } from './create-auth.ts'
import { openScene, reasonsOf, type SignedIn, sessionOf } from './open-scene.ts'

const scene = await openScene()
afterAll(() => scene.close())
const { api } = scene.auth
const root = await scene.signUpAdmin()
const asRoot = root.headers

/** Ends the session of a user who has another one. */
type Revoke = (user: SignedIn, other: SignedIn) => Promise<unknown>

test.for<[name: string, reason: string, revoke: Revoke]>([
  ['signOut', 'SESSION_NOT_FOUND', ({ headers }) => api.signOut({ headers })],
  [
    'revokeSession',
    'SESSION_NOT_FOUND',
    ({ token }, { headers }) => api.revokeSession({ headers, body: { token } }),
  ],
  ['revokeSessions', 'SESSION_NOT_FOUND', (_, { headers }) => api.revokeSessions({ headers })],
  ['revokeOtherSessions', 'SESSION_NOT_FOUND', (_, { headers }) => api.revokeOtherSessions({ headers })],
  [
    'changePassword',
    'SESSION_NOT_FOUND',
    (_, { headers }) =>
      api.changePassword({
        headers,
        body: { currentPassword: PASSWORD, newPassword: `${PASSWORD}!`, revokeOtherSessions: true },
      }),
  ],
  ['deleteUser', 'SESSION_NOT_FOUND', ({ headers }) => api.deleteUser({ headers, body: {} })],
  [
    'revokeUserSession',
    'SESSION_NOT_FOUND',
    ({ token }) => api.revokeUserSession({ headers: asRoot, body: { sessionToken: token } }),
  ],
  [
    'revokeUserSessions',
    'SESSION_NOT_FOUND',
    ({ userId }) => api.revokeUserSessions({ headers: asRoot, body: { userId } }),
  ],
  ['banUser', 'ACCOUNT_BANNED', ({ userId }) => api.banUser({ headers: asRoot, body: { userId } })],
  ['removeUser', 'SESSION_NOT_FOUND', ({ userId }) => api.removeUser({ headers: asRoot, body: { userId } })],
])('%s ends streams over both transports with %s, as soon as it is done', async ([, reason, revoke]) => {
  const user = await scene.signUp()
  const streams = await scene.openStreams(user.cookie)
  const other = await scene.signIn(user.email)
  const published = vi.spyOn(scene.db[authStore].revocations, 'publish')
  await revoke(user, other)
  expect(published.mock.calls.map(([{ userId }]) => userId)).toContain(user.userId)
  published.mockRestore()
  expect(await reasonsOf(streams)).toEqual([reason, reason])
  expect(await scene.call(user.cookie)).toBe(reason)
})

test('a server that stops ends streams over HTTP, and then closes the guard', async () => {
  const stopped = await openScene()
  const [overHttp] = await stopped.openStreams((await stopped.signUp()).cookie)
  // A closed guard ends its streams, too, but later.
  const close = vi.spyOn(stopped.guard, 'close').mockResolvedValue()
  await drain({ auth: stopped.guard, server: [] })
  expect(close).toHaveBeenCalledOnce()
  expect(await reasonsOf(overHttp ? [overHttp] : [])).toEqual(['SESSIONS_UNAVAILABLE'])
  close.mockRestore()
  await stopped.close()
})

test('setRole ends the streams that need the role', async () => {
  const user = await scene.signUpAdmin()
  const streams = await scene.openStreams(user.cookie, 'adminStream')
  await api.setRole({ headers: asRoot, body: { userId: user.userId, role: 'user' } })
  expect(await reasonsOf(streams)).toEqual(['ROLE_REQUIRED', 'ROLE_REQUIRED'])
  expect(await scene.call(user.cookie)).toBeNull()
})

test('the end of an impersonation ends its streams, and not those of the user', async () => {
  const user = await scene.signUp()
  const own = await scene.openStreams(user.cookie)
  const started = await api.impersonateUser({
    headers: asRoot,
    body: { userId: user.userId },
    returnHeaders: true,
  })
  const { cookie, headers } = sessionOf(started.headers)
  const streams = await scene.openStreams(cookie)
  await api.stopImpersonating({ headers })
  expect(await reasonsOf(streams)).toEqual(['SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'])
  expect(own.map(({ values }) => values)).toEqual([['open'], ['open']])
  expect(await scene.call(user.cookie)).toBeNull()
})

test('changes of an organization make streams read again', async () => {
  const [owner, user] = [await scene.signUp(), await scene.signUp()]
  const create = { name: 'Acme', slug: 'acme' }
  const { id: organizationId } = await api.createOrganization({ headers: owner.headers, body: create })
  const body = { userId: user.userId, role: 'member', organizationId } as const
  const member = await api.addMember({ body })
  const streams = await scene.openStreams(user.cookie)
  const { headers } = owner
  for (const change of [
    () => api.setActiveOrganization({ headers: user.headers, body: { organizationId } }),
    () => api.updateMemberRole({ headers, body: { memberId: member.id, role: 'admin', organizationId } }),
    () => api.removeMember({ headers, body: { memberIdOrEmail: member.id, organizationId } }),
  ]) {
    const reads = vi.spyOn(scene.db[authStore].sessions, 'findSession')
    await change()
    expect(reads.mock.calls.map(([{ userId }]) => userId)).toContain(user.userId)
    reads.mockRestore()
  }
  expect(streams.map(({ values }) => values)).toEqual([['open'], ['open']])
})

test('a deleted organization makes the streams of its members read again', async () => {
  const [owner, user] = [await scene.signUp(), await scene.signUp()]
  const create = { name: 'Beta', slug: 'beta' }
  const { id: organizationId } = await api.createOrganization({ headers: owner.headers, body: create })
  await api.addMember({ body: { userId: user.userId, role: 'member', organizationId } })
  await scene.openStreams(user.cookie)
  const reads = vi.spyOn(scene.db[authStore].sessions, 'findSession')
  await api.deleteOrganization({ headers: owner.headers, body: { organizationId } })
  expect(reads.mock.calls.map(([{ userId }]) => userId)).toContain(user.userId)
  reads.mockRestore()
})

test('two guards of one auth both learn of a revocation, and a failing one never fails the host', async () => {
  const user = await scene.signUp()
  const second = betterAuthGuard(scene.auth)
  const store = second.attach({})[authStore]
  await second.ready()
  const closed = new Error('closed')
  const failing = vi.spyOn(store.revocations, 'publish').mockImplementation(() => {
    throw closed
  })
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const streams = await scene.openStreams(user.cookie)
  const { internalAdapter } = await scene.auth.$context
  await internalAdapter.deleteSession(user.token)
  expect(await reasonsOf(streams)).toEqual(['SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'])
  expect(failing).toHaveBeenCalledTimes(1)
  // Other parts may log too.
  expect(logged.mock.calls.filter((line) => line.includes(closed))).toHaveLength(1)
  await second.close()
  await api.signOut({ headers: (await scene.signUp()).headers })
  expect(failing).toHaveBeenCalledTimes(1)
  logged.mockRestore()
})
