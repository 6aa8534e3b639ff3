import { validateSession } from '@sallyport/core'
import { admin } from 'better-auth/plugins'
import { expect, test, vi } from 'vitest'
import { adapterStore } from '../../src/better-auth/adapter-store.ts'
import { createAuth, ORIGIN } from './create-auth.ts'

const { auth } = await createAuth({ plugins: [admin()] })
const context = await auth.$context
const { sessions } = adapterStore(context, ORIGIN)
const rows = { session: {}, user: {} }
vi.spyOn(context.adapter, 'findOne').mockImplementation(async ({ model, where }) => {
  const row = { id: where[0]?.value, ...Reflect.get(rows, model) }
  return Reflect.apply(Object, undefined, [row])
})

const identity = { sessionId: 's1', userId: 'u1', version: null, issuer: ORIGIN }
const later = () => new Date(Date.now() + 60_000)

function validate({ session = {}, user = {} }: { session?: object; user?: object }) {
  rows.session = { userId: 'u1', expiresAt: later(), createdAt: new Date(), ...session }
  rows.user = { name: 'Ada', email: 'ada@example.com', banned: false, banExpires: null, ...user }
  return validateSession(identity, sessions)
}

test('a session of Better Auth is valid', async () => {
  expect(await validate({})).toMatchObject({ id: 's1', userId: 'u1' })
})

test.each([
  ["another user's session is not found", { session: { userId: 'u2' } }, 'SESSION_NOT_FOUND'],
  ['an unreadable date is expired', { session: { expiresAt: '2999-01-01' } }, 'SESSION_EXPIRED'],
  ['a missing date is expired', { session: { expiresAt: null } }, 'SESSION_EXPIRED'],
  [
    'an unreadable end of a ban is none',
    { user: { banned: true, banExpires: '2000-01-01' } },
    'ACCOUNT_BANNED',
  ],
])('%s', async (_name, changes, reason) => {
  await expect(validate(changes)).rejects.toMatchObject({ reason })
})
