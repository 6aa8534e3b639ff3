import { createHash } from 'node:crypto'
import { AuthError, type AuthEvent, authenticate, type SessionReader } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { denial, withReport } from '../../src/session/report-denial.ts'
import { answerOf } from '../support/answer-of.ts'
import { dumpTables } from '../support/dump-tables.ts'
import { incoming } from '../support/incoming.ts'
import { reasonOf } from '../support/reason-of.ts'
import { get, post } from '../support/requests.ts'
import { createUserMaker } from '../support/user-maker.ts'

const onEvent = vi.fn<(event: AuthEvent) => void>()
const auth = await createTestAuth({ onEvent })
const makeUser = await createUserMaker(auth)
const { config } = auth
afterAll(() => auth.close())

let ada: TestSession
beforeEach(async () => {
  onEvent.mockReset()
  ada = await auth.signIn(await makeUser())
  onEvent.mockReset()
})

const heard = async () => {
  const [event] = await vi.waitFor(
    () => onEvent.mock.calls[0] ?? Promise.reject(new Error('Nothing was told')),
  )
  expect(onEvent).toHaveBeenCalledOnce()
  return event
}
const hashOf = (id: string) => `sha256:${createHash('sha256').update(id).digest('hex')}`
const knock = (headers: Record<string, string>, sessions: SessionReader = auth.database.sessions) =>
  reasonOf(authenticate(incoming(headers), 'query', { config, sessions }))

describe('the app receives what a step rejected', () => {
  const wrong = () => `service.jwt=${ada.token}; service.session=other.secret`
  const after = async (change: (session: TestSession) => Promise<unknown>) => {
    await change(ada)
    onEvent.mockReset()
    return ada.cookie
  }

  test.each<[string, 1 | 2, () => string | Promise<string>]>([
    ['TOKEN_MISSING', 1, () => ''],
    ['TOKEN_MISSING', 1, () => `service.session=${ada.sessionCookie}`],
    ['TOKEN_INVALID', 1, () => 'service.jwt=x.y.z'],
    ['TOKEN_INVALID', 1, wrong],
    ['TOKEN_EXPIRED', 1, async () => (await auth.expireJwt(ada)).cookie],
    ['COOKIE_CONFLICT', 1, () => `${ada.cookie}; service.jwt=x`],
    ['SESSION_NOT_FOUND', 2, () => after(auth.revoke)],
    ['SESSION_EXPIRED', 2, () => after(auth.expireSession)],
    ['ACCOUNT_BANNED', 2, () => after(auth.ban)],
  ])('%s by Step %i', async (reason, step, cookie) => {
    const given = await cookie()
    expect(await knock({ ...(given !== '' && { cookie: given }) })).toBe(reason)
    expect(await heard()).toEqual({
      type: 'decision.denied',
      at: auth.clock.now(),
      reason,
      step,
      sessionIdHash: step === 1 ? null : hashOf(ada.sessionId),
      durationMs: expect.any(Number),
    })
  })

  test('of another site, and of what could not be decided', async () => {
    const evil = { cookie: ada.cookie, origin: 'https://evil.example' }
    expect(await knock(evil)).toBe('ORIGIN_REJECTED')
    expect(await heard()).toMatchObject({ reason: 'ORIGIN_REJECTED', step: 1, sessionIdHash: null })
    onEvent.mockReset()
    const down = { findSession: () => Promise.reject(new Error(`no ${ada.sessionId}`)) }
    expect(await knock({ cookie: ada.cookie }, down)).toBe('SESSIONS_UNAVAILABLE')
    expect(await heard()).toMatchObject({ reason: 'SESSIONS_UNAVAILABLE', step: 2 })
  })

  test.each([
    ['an admin endpoint', ENDPOINTS.unbanUser.path, { userId: 'x' }, 'ROLE_REQUIRED'],
    ['an endpoint that wants a fresh session', ENDPOINTS.deleteUser.path, {}, 'SESSION_NOT_FRESH'],
  ])('of who may not call %s', async (_name, path, body, reason) => {
    await auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(0) })
      .execute()
    expect(await answerOf(auth.handler(post(path, body, { cookie: ada.cookie })))).toBe(`403 ${reason}`)
    expect(await heard()).toMatchObject({ reason, step: 2, sessionIdHash: hashOf(ada.sessionId) })
  })

  test('how long it took is a time and no more: not less than nothing', async () => {
    await knock({})
    const event = await heard()
    if (event.type !== 'decision.denied') throw new TypeError(event.type)
    expect(event.durationMs).toBeGreaterThanOrEqual(0)
  })
})

test('no token, cookie or id stands in what it is told', async () => {
  const fakes = [ada.cookie, (await auth.expireJwt(ada)).cookie, `${ada.cookie}; service.jwt=${ada.token}`]
  await auth.revoke(ada)
  onEvent.mockReset()
  for (const cookie of fakes) await knock({ cookie })
  await vi.waitFor(() => expect(onEvent).toHaveBeenCalledTimes(3))
  const told = JSON.stringify(onEvent.mock.calls)
  for (const secret of [ada.sessionId, ada.userId, ada.token, ada.sessionCookie.split('.')[1] ?? ''])
    expect(told).not.toContain(secret)
})

test('it is told of nothing that was let in', async () => {
  expect(await knock({ cookie: ada.cookie })).toBe('accepted')
  expect(await answerOf(auth.handler(get(ENDPOINTS.getSession.path, { cookie: ada.cookie })))).toBe('200')
  expect(onEvent).not.toHaveBeenCalled()
})

test('nothing of it is written down', async () => {
  const before = await dumpTables(auth)
  await knock({})
  await heard()
  expect(await dumpTables(auth)).toEqual(before)
})

test('a listener that fails changes no decision', async () => {
  const print = vi.spyOn(console, 'error').mockImplementation(() => {})
  onEvent.mockImplementation(() => {
    throw new Error('the log is full')
  })
  expect(await knock({})).toBe('TOKEN_MISSING')
  await heard()
  expect(await knock({ cookie: ada.cookie })).toBe('accepted')
  await vi.waitFor(() => expect(print).toHaveBeenCalledOnce())
  print.mockRestore()
})

test("an error that isn't a rejection is not reported", async () => {
  const failure = new TypeError('not a function')
  const failing = withReport(() => Promise.reject(failure), { step: 1, sessionId: null, config })
  await expect(failing).rejects.toBe(failure)
  expect(onEvent).not.toHaveBeenCalled()
})

test('a rejection after both steps is reported like any other', async () => {
  expect(denial('ROLE_REQUIRED', 's1', config)).toMatchObject({ reason: 'ROLE_REQUIRED', status: 403 })
  expect(await heard()).toEqual({
    type: 'decision.denied',
    at: auth.clock.now(),
    reason: 'ROLE_REQUIRED',
    step: 2,
    sessionIdHash: hashOf('s1'),
    durationMs: 0,
  })
})

test('without a listener there is nothing to tell, and the rejection is the same', async () => {
  const quiet = { ...config, onEvent: undefined }
  expect(denial('ROLE_REQUIRED', 's1', quiet)).toMatchObject({ reason: 'ROLE_REQUIRED' })
  const rejected = Promise.reject(new AuthError('SESSION_EXPIRED'))
  const reported = withReport(() => rejected, { step: 2, sessionId: 's1', config: quiet })
  expect(await reasonOf(reported)).toBe('SESSION_EXPIRED')
  expect(onEvent).not.toHaveBeenCalled()
})
