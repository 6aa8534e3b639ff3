import { authenticate } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/testing/test-clock.ts'
import { incoming } from '../support/incoming.ts'
import { reasonOf } from '../support/reason-of.ts'
import { post } from '../support/requests.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

const request = ({ cookie }: TestSession, { config, database }: TestAuth = auth) =>
  reasonOf(authenticate(incoming({ cookie }), 'query', { config, sessions: database.sessions }))

describe('each helper brings about one state of the spec', () => {
  test.each([
    ['signIn', async (session: TestSession) => session, 'accepted'],
    ['expireJwt', (session: TestSession) => auth.expireJwt(session), 'TOKEN_EXPIRED'],
    ['expireSession', (session: TestSession) => auth.expireSession(session), 'SESSION_EXPIRED'],
    ['revoke', (session: TestSession) => auth.revoke(session), 'SESSION_NOT_FOUND'],
    ['ban', (session: TestSession) => auth.ban(session), 'ACCOUNT_BANNED'],
  ] as const)('%s', async (_name, change, reason) => {
    const session = await auth.signIn()
    expect(await request((await change(session)) ?? session)).toBe(reason)
  })
})

test('the clock makes a JWT and a session expire', async () => {
  const own = await createTestAuth()
  const ada = await own.signIn()
  own.clock.advance(own.config.jwtLifetimeSeconds)
  expect(await request(ada, own)).toBe('TOKEN_EXPIRED')
  await own.close()
})

test('a user signs in with the password that every user has', async () => {
  const { email, userId } = await auth.createUser()
  const response = await auth.handler(post(ENDPOINTS.signInEmail.path, { email, password: TEST_PASSWORD }))
  expect(await response.json()).toMatchObject({ userId })
})

test('the lookups of Step 2 are counted, and the count can be reset', async () => {
  const ada = await auth.signIn()
  auth.lookups.reset()
  for (let i = 0; i < 3; i++) await request(ada)
  expect(auth.lookups.count).toBe(3)
  auth.lookups.reset()
  expect(auth.lookups.count).toBe(0)
})

test('a clock stands still until it is moved, by seconds and either way', () => {
  const clock = createTestClock(new Date(0))
  expect(clock.now()).toEqual(new Date(0))
  clock.advance(1.5)
  clock.advance(-1)
  expect(clock.now()).toEqual(new Date(500))
})
