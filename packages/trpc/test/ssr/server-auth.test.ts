import { AuthError, REASONS, type Reason } from '@sallyport/core'
import type { TestSession } from '@sallyport/core/testing'
import { TRPCError } from '@trpc/server'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createCaller } from '../support/router.ts'
import { browser, ORIGIN } from '../support/visitor.ts'
import { cookieWith, createScene, pageRequest } from './scene.ts'

const scene = await createScene()
const userId = (await scene.auth.createUser()).userId
let session: TestSession
beforeEach(async () => {
  scene.endpoint = 'up'
  scene.asked.length = 0
  scene.errors.length = 0
  await scene.auth.db.updateTable('user').set({ banned: false }).execute()
  session = await scene.auth.signIn({ userId })
})
afterAll(() => scene.close())

const openPage = async (jwt: 'valid' | 'missing' = 'valid') =>
  scene.serverAuth(pageRequest(await cookieWith(jwt, scene, session)))

/** Waits for longer than the lifetime of the page's first JWT. */
const expireJwt = () => scene.auth.clock.advance(901)

describe('a JWT that expires during rendering', () => {
  test('is replaced, and the call is repeated', async () => {
    const page = await openPage()
    expireJwt()
    const shown: (string | null)[] = []
    const answer = await page.call((headers) => {
      shown.push(headers.get('cookie'))
      return createCaller(scene.context(headers)).me()
    })
    expect(answer).toBe(userId)
    expect(scene.asked).toHaveLength(1)
    expect(page.state).toEqual({
      status: 'authenticated',
      userId,
      sessionId: session.sessionId,
      expiresIn: 900,
    })
    const [jwt] = page.setCookies.map((setCookie) => setCookie.split(';')[0] ?? '')
    expect(shown).toEqual([expect.stringContaining(session.token), expect.stringContaining(String(jwt))])
    expect(page.headers.get('cookie')).toBe(shown[1])
  })

  test('is replaced once for all calls, including those that are rejected later', async () => {
    const page = await openPage()
    expireJwt()
    const late = Promise.withResolvers<void>()
    const callLate = page.call(async (headers) => {
      const answer = createCaller(scene.context(headers)).me()
      await Promise.allSettled([answer, late.promise])
      return answer
    })
    const answers = await Promise.all(Array.from({ length: 30 }, () => scene.me(page)))
    late.resolve()
    expect(new Set([...answers, await callLate])).toEqual(new Set([userId]))
    expect(scene.asked).toHaveLength(1)
  })

  test("is not replaced if the token endpoint can't decide: the call is rejected and the user becomes unknown", async () => {
    const page = await openPage()
    expireJwt()
    scene.endpoint = '503'
    expect(await scene.me(page)).toBe('TOKEN_EXPIRED')
    expect([page.state, page.reason, page.setCookies]).toEqual([
      { status: 'unknown' },
      'SESSIONS_UNAVAILABLE',
      [],
    ])
    expect(await scene.me(page)).toBe('TOKEN_EXPIRED')
    expect(scene.asked).toHaveLength(1)
  })

  test('is not replaced if the session has ended', async () => {
    const page = await openPage()
    expireJwt()
    await scene.auth.revoke(session)
    expect(await scene.me(page)).toBe('TOKEN_EXPIRED')
    expect([page.state, page.reason]).toEqual([{ status: 'unauthenticated' }, 'SESSION_NOT_FOUND'])
    expect(page.setCookies).toHaveLength(2)
    expect(page.headers.get('cookie')).toBe('theme=dark')
  })

  test('is not replaced for a prefetch', async () => {
    const init = { headers: { 'sec-purpose': 'prefetch' } }
    const page = await scene.serverAuth(pageRequest(session.cookie, init))
    expireJwt()
    expect(await scene.me(page)).toBe('TOKEN_EXPIRED')
    expect([page.state, page.reason, scene.asked.length]).toEqual([{ status: 'unknown' }, 'TOKEN_EXPIRED', 0])
  })
})

test('a JWT from the token endpoint is not replaced', async () => {
  const page = await openPage('missing')
  expireJwt()
  let runs = 0
  const call = page.call((headers) => {
    runs++
    return createCaller(scene.context(headers)).me()
  })
  await expect(call).rejects.toMatchObject({ cause: { reason: 'TOKEN_EXPIRED' } })
  expect([runs, scene.asked.length]).toEqual([1, 1])
})

test('a JWT is not replaced again after an undecidable response', async () => {
  scene.endpoint = 'down'
  const page = await scene.serverAuth(pageRequest(await cookieWith('about to expire', scene, session)))
  scene.endpoint = 'up'
  expireJwt()
  expect(await scene.me(page)).toBe('TOKEN_EXPIRED')
  expect(scene.asked).toHaveLength(1)
})

describe('a rejected call', () => {
  const errorOf = (reason: Reason) => {
    const { code, message } = REASONS[reason]
    return new TRPCError({ code, message, cause: new AuthError(reason) })
  }
  const remoteError = (reason: Reason, replay: boolean) =>
    Object.assign(new Error('rejected'), { data: { auth: { reason, retryAfterSeconds: null, replay } } })

  /** Returns how often the work runs, and the user's status afterwards. */
  async function reject(error: unknown) {
    const page = await openPage()
    let runs = 0
    const call = page.call(() => {
      runs++
      return Promise.reject(error)
    })
    await expect(call).rejects.toBe(error)
    return { runs, calls: scene.asked.length, status: page.state.status, reason: page.reason }
  }

  test.each(['TOKEN_EXPIRED', 'TOKEN_INVALID', 'TOKEN_MISSING'] as const)(
    'with %s repeatedly runs twice, with one JWT from the endpoint',
    async (reason) => {
      const outcome = { runs: 2, calls: 1, status: 'authenticated', reason: null }
      expect(await reject(errorOf(reason))).toEqual(outcome)
      scene.asked.length = 0
      expect(await reject(remoteError(reason, true))).toEqual(outcome)
    },
  )

  const kept = { runs: 1, calls: 0, status: 'authenticated', reason: null }
  test('whose resolver has run is not repeated', async () => {
    expect(await reject(remoteError('TOKEN_EXPIRED', false))).toEqual(kept)
  })

  test.each([
    ['ROLE_REQUIRED', kept],
    ['SESSION_NOT_FRESH', kept],
    ['ORIGIN_REJECTED', kept],
    ['COOKIE_CONFLICT', kept],
    ['RATE_LIMITED', kept],
    ['SESSIONS_UNAVAILABLE', kept],
    ['KEYS_UNAVAILABLE', kept],
    ['SESSION_NOT_FOUND', { ...kept, status: 'unauthenticated', reason: 'SESSION_NOT_FOUND' }],
    ['SESSION_EXPIRED', { ...kept, status: 'unauthenticated', reason: 'SESSION_EXPIRED' }],
    ['ACCOUNT_BANNED', { ...kept, status: 'unknown', reason: 'ACCOUNT_BANNED' }],
  ] as const)('with %s runs once', async (reason, outcome) => {
    expect(await reject(errorOf(reason))).toEqual(outcome)
    expect(await reject(remoteError(reason, true))).toEqual(outcome)
  })
})

describe('a browser whose credentials were superseded', () => {
  /** Replaces the session's credentials, as the user does in a browser with the same cookies. */
  async function supersede(): Promise<void> {
    const response = await scene.auth.handler(
      new Request(`${ORIGIN}/api/auth/revoke-copies`, {
        method: 'POST',
        headers: { ...browser(session).headers, 'content-type': 'application/json' },
        body: '{}',
      }),
    )
    expect(response.status).toBe(200)
  }

  test.each(['valid', 'about to expire', 'expired', 'missing'] as const)(
    'and whose JWT is %s: the page is unknown, and its cookies stay as they are',
    async (jwt) => {
      await supersede()
      const cookie = await cookieWith(jwt, scene, session)
      const page = await scene.serverAuth(pageRequest(cookie))
      expect(await scene.me(page)).toMatch(/^TOKEN_/)
      expect([page.state, page.reason, page.setCookies]).toEqual([
        { status: 'unknown' },
        'SECRET_SUPERSEDED',
        [],
      ])
      expect(page.headers.get('cookie')).toBe(cookie)
      expect(scene.errors).toEqual([])
    },
  )

  test('during rendering: a call is rejected, and the page is unknown', async () => {
    const page = await openPage()
    expect(await scene.me(page)).toBe(userId)
    await supersede()
    expect(await scene.me(page)).toBe('TOKEN_INVALID')
    expect([page.state, page.reason]).toEqual([{ status: 'unknown' }, 'SECRET_SUPERSEDED'])
  })
})

test('once a session turns out to have ended, the rest of the page is anonymous', async () => {
  const page = await openPage()
  await scene.auth.revoke(session)
  expect(await scene.me(page)).toBe('SESSION_NOT_FOUND')
  expect(await page.call((headers) => createCaller(scene.context(headers)).whoami())).toBeNull()
  expect(await scene.me(page)).toBe('TOKEN_MISSING')
  expect([page.state, page.reason, page.setCookies]).toEqual([
    { status: 'unauthenticated' },
    'SESSION_NOT_FOUND',
    [],
  ])
})
