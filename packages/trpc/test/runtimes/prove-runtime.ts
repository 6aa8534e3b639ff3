import assert from 'node:assert/strict'
import { expireJwt } from '../../../../scripts/test-apps/expire-jwt.ts'
import { expectCalls, expectEnds, Me, meWith } from './expect-calls.ts'
import { emailOf, type Hosts, openUser, reasonOf, type User } from './open-user.ts'

/** A running app with the procedures of the quick start and the subscription `ticks`. */
export interface RunningApp extends Hosts {
  /** Its `SIGNING_KEYS`. They sign an expired JWT. */
  readonly signingKeys: string
  /** Runs the command `sallyport` in another process, on the database of the app. */
  command(...args: readonly string[]): void
}

/** Uses an app as its users do, and rejects unless both steps decide every call over every transport. */
export async function proveRuntime(app: RunningApp): Promise<void> {
  assert.deepEqual(await meWith(app, ''), [401, 'TOKEN_MISSING'])
  const ada = openUser(app)
  const { userId } = await ada.signUp('Ada')
  await expectCalls(ada, ['ada@example.com', 'ROLE_REQUIRED', userId])
  await useExpiredJwt(app, ada)
  app.command('user', 'promote', emailOf('Ada'))
  await expectCalls(ada, ['ada@example.com', 'ada@example.com', userId])

  const grace = openUser(app)
  const { userId: graceId, sessionId } = await grace.signUp('Grace')
  const revoke = () => app.command('sessions', 'revoke', sessionId)
  const revoked = grace.jar.header()
  await expectEnds(grace, { by: revoke, reason: 'SESSION_NOT_FOUND' })
  assert.deepEqual(await meWith(app, revoked), [401, 'SESSION_NOT_FOUND'])

  await grace.signIn('Grace')
  const ban = () => ada.authClient.api.banUser({ userId: graceId })
  await expectEnds(grace, { by: ban, reason: 'ACCOUNT_BANNED' })
  await expectCalls(grace, Array(3).fill('ACCOUNT_BANNED'))
  assert.equal(await openUser(app).signIn('Grace').catch(reasonOf), 'ACCOUNT_BANNED')

  const signedOut = ada.jar.header()
  await ada.authClient.signOut()
  assert.deepEqual(await meWith(app, signedOut), [401, 'SESSION_NOT_FOUND'])
  assert.deepEqual([...ada.jar.cookies.keys()], ['service.device'])
}

/** Opens the browser of a user later. The server rejects its JWT, and the client gets another one. */
async function useExpiredJwt(app: RunningApp, { jar }: User): Promise<void> {
  const jwt = jar.cookies.get('service.jwt') ?? ''
  const cookie = jar.header().replace(jwt, expireJwt(jwt, app.signingKeys))
  assert.deepEqual(await meWith(app, cookie), [401, 'TOKEN_EXPIRED'])
  const later = openUser(app, cookie)
  assert.equal(Me.parse(await later.callers[0].query('me')).email, emailOf('Ada'))
  assert.deepEqual(await meWith(app, cookie), [401, 'TOKEN_EXPIRED'])
}
