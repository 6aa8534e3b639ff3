import {
  isAuthError,
  isEndpointError,
  REASONS,
  type Reason,
  type Session,
  validateSession,
} from '@sallyport/core'
import { TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import type { BoundApi } from '@sallyport/trpc/action'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { selectStore } from '../../src/runtime/select-adapter.ts'
import { storeOf } from '../../src/server/get-session.ts'
import {
  openRuntime,
  type ProbeDefinition,
  type RouteRequest,
  routeContext,
  WAYS,
  type Way,
} from '../support/open-runtime.ts'
import { PROBE_CHALLENGE } from '../support/probe-plugin.ts'

const directory = temporaryDirectory()

const app = await openRuntime(directory)
beforeEach(() => app.reset())
afterAll(() => app.close())

type ProbeApi = BoundApi<ProbeDefinition['plugins']>

/** Returns the endpoints on behalf of a request. */
const apiFor = (way: Way, request: RouteRequest = {}): ProbeApi =>
  app.getAuth(routeContext(app, way, request)).api

/** Returns the result, or everything about a rejection that a caller may rely on. */
async function answerOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    if (isAuthError(error)) {
      const { reason, status, message, retryAfterSeconds, required, challenge } = error
      return { reason, status, message, retryAfterSeconds, required, challenge }
    }
    if (isEndpointError(error)) {
      const { code, status, message, fields } = error
      return { code, status, message, fields }
    }
    throw error
  }
}

/** Returns the result of {@link answerOf} for a rejection with this reason. */
const rejectionFor = (reason: Reason, retryAfterSeconds: number | null = null) => {
  const { status, message } = REASONS[reason]
  const required = reason === 'SESSION_NOT_FRESH' ? { factor: null, maxAgeSeconds: 900 } : undefined
  return { reason, status, message, retryAfterSeconds, required, challenge: undefined }
}

const unavailable = rejectionFor('SESSIONS_UNAVAILABLE', 1)

/** Every state of a session and its JWT (spec section 3), and the result. */
const STATES: { state: string; given: () => Promise<TestSession>; result: Reason | null }[] = [
  { state: 'session valid, JWT valid', given: () => app.signIn(), result: null },
  {
    state: 'session revoked, JWT valid',
    async given() {
      const session = await app.signIn()
      await app.auth.revoke(session)
      return session
    },
    result: 'SESSION_NOT_FOUND',
  },
  {
    state: 'session expired, JWT valid',
    async given() {
      const session = await app.signIn()
      await app.auth.expireSession(session)
      return session
    },
    result: 'SESSION_EXPIRED',
  },
  {
    state: 'session banned, JWT valid',
    async given() {
      const session = await app.signIn()
      await app.auth.ban(session)
      return session
    },
    result: 'ACCOUNT_BANNED',
  },
  {
    state: 'session banned until a moment ago, JWT valid',
    async given() {
      const session = await app.signIn()
      const banExpires = new Date(app.auth.clock.now().getTime() - 1)
      await app.auth.db
        .updateTable('user')
        .set({ banned: true, banExpires })
        .where('id', '=', session.userId)
        .execute()
      return session
    },
    result: null,
  },
  {
    state: 'session valid, JWT expired',
    given: async () => app.auth.expireJwt(await app.signIn()),
    result: 'TOKEN_EXPIRED',
  },
  {
    state: 'session valid, JWT unsigned',
    given: async () => ({ ...(await app.signIn()), cookie: 'service.jwt=a.b.c' }),
    result: 'TOKEN_INVALID',
  },
  {
    state: 'signed out',
    given: async () => ({ ...(await app.signIn()), cookie: '' }),
    result: 'TOKEN_MISSING',
  },
]

describe.each(WAYS)('%s', (way) => {
  describe('the result on a session', () => {
    test.each(STATES)('$state: $result', async ({ given, result }) => {
      const { cookie, userId } = await given()
      const answer = await answerOf(apiFor(way, { cookie }).readAsUser())
      expect(answer).toEqual(result === null ? { caller: userId, text: '' } : rejectionFor(result))
      expect(app.runs).toEqual(result === null ? ['readAsUser'] : [])
    })

    test.each(STATES.filter(({ result }) => result === null || !result.startsWith('TOKEN')))(
      "in an action's Step 2, $state: $result",
      async ({ given, result }) => {
        const key = await given()
        expect(await reasonOf(findSession(way, key))).toBe(result)
      },
    )

    test('is 503 if the database is unreachable', async () => {
      const { cookie, ...key } = await app.signIn()
      app.store.answer = () => Promise.reject(new Error('connection refused'))
      expect(await answerOf(apiFor(way, { cookie }).readAsUser())).toEqual(unavailable)
      expect(await answerOf(findSession(way, key))).toEqual(unavailable)
      expect(app.runs).toEqual([])
    })
  })

  test('Step 2 reads the same session, with dates and added columns', async () => {
    const { userId, sessionId } = await app.signIn()
    const askedAt = '2026-11-21T10:00:00.000Z'
    const added = { theme: 'dark', toured: 1, askedAt }
    await app.auth.db
      .updateTable('session')
      .set(added as object)
      .where('id', '=', sessionId)
      .execute()
    await app.auth.db
      .updateTable('user')
      .set({ banned: true, banExpires: new Date(1), locale: 'de' } as object)
      .where('id', '=', userId)
      .execute()
    const session = await findSession(way, { userId, sessionId })
    expect(session).toEqual(await findSession('direct', { userId, sessionId }))
    expect(session).toMatchObject({
      id: sessionId,
      theme: 'dark',
      toured: true,
      askedAt,
      user: { locale: 'de' },
    })
    expect(session.expiresAt).toBeInstanceOf(Date)
  })

  test('Step 2 reads more sessions at once than a runner accepts calls, each for its caller', async () => {
    const known = await Promise.all([app.signIn(), app.signIn(), app.signIn()])
    const keys = Array.from(
      { length: 300 },
      (_, index) => known[index % 4] ?? { userId: 'no', sessionId: 'no' },
    )
    const found = await Promise.all(
      keys.map((key) => findSession(way, key).then(({ id }) => id, reasonOfError)),
    )
    expect(found).toEqual(keys.map(({ sessionId }) => (sessionId === 'no' ? 'SESSION_NOT_FOUND' : sessionId)))
  })

  describe('an endpoint', () => {
    const CALLS: {
      call: string
      run: (api: ProbeApi) => Promise<unknown>
      answers: Record<'stranger' | 'user' | 'admin' | 'userOfLongAgo', 'answer' | Reason>
    }[] = [
      {
        call: 'GET for anyone',
        run: (api) => api.readAsAnyone({ text: 'hi' }),
        answers: { stranger: 'answer', user: 'answer', admin: 'answer', userOfLongAgo: 'answer' },
      },
      {
        call: 'GET for users',
        run: (api) => api.readAsUser(),
        answers: { stranger: 'TOKEN_MISSING', user: 'answer', admin: 'answer', userOfLongAgo: 'answer' },
      },
      {
        call: 'POST for users',
        run: (api) => api.writeAsUser({ text: 'hi' }),
        answers: { stranger: 'TOKEN_MISSING', user: 'answer', admin: 'answer', userOfLongAgo: 'answer' },
      },
      {
        call: 'POST for users with a fresh sign-in',
        run: (api) => api.writeAsFreshUser({ text: 'hi' }),
        answers: {
          stranger: 'TOKEN_MISSING',
          user: 'answer',
          admin: 'answer',
          userOfLongAgo: 'SESSION_NOT_FRESH',
        },
      },
      {
        call: 'POST for admins',
        run: (api) => api.writeAsAdmin({ text: 'hi' }),
        answers: {
          stranger: 'TOKEN_MISSING',
          user: 'ROLE_REQUIRED',
          admin: 'answer',
          userOfLongAgo: 'ROLE_REQUIRED',
        },
      },
    ]

    describe.each(CALLS)('$call', ({ run, answers }) => {
      test.each(Object.entries(answers))('by a %s: %s', async (who, expected) => {
        const session = who === 'stranger' ? null : await signInAs(who)
        const answer = await answerOf(run(apiFor(way, session === null ? {} : { cookie: session.cookie })))
        if (expected === 'answer') {
          expect(answer).toMatchObject({ text: expect.stringMatching(/^(hi)?$/) })
          expect(app.runs).toHaveLength(1)
        } else {
          expect(answer).toEqual(rejectionFor(expected))
          expect(app.runs).toEqual([])
        }
      })
    })

    test('receives its caller and its input', async () => {
      const { cookie, userId } = await app.signIn()
      expect(await apiFor(way, { cookie }).writeAsUser({ text: 'hello' })).toEqual({
        caller: userId,
        text: 'hello',
      })
    })

    test('ignores undefined members', async () => {
      expect(await apiFor(way).readAsAnyone({ text: undefined })).toEqual({ caller: null, text: '' })
    })

    test('receives the device, the page, the origin, and the address according to trustedProxies', async () => {
      const referer = 'http://localhost:3000/sign-in'
      const headers = { 'user-agent': 'Probe/1.0', referer, 'x-forwarded-for': '198.51.100.9' }
      expect(await apiFor(way, { headers }).see()).toMatchObject({
        address: '192.0.2.7',
        headers: { 'user-agent': 'Probe/1.0', referer, origin: 'http://localhost:3000' },
      })
      const { auth } = createAuthContext(app.auth.config).headers(headers, { remoteAddress: '192.0.2.1' })
      const behindProxy = app.getAuth({ ...routeContext(app, way), auth })
      expect(await behindProxy.api.see()).toMatchObject({ address: '198.51.100.9' })
    })

    test('that writes rejects a page of another site', async () => {
      const { cookie } = await app.signIn()
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      expect(await answerOf(apiFor(way, { cookie, headers }).writeAsUser({ text: 'hi' }))).toEqual(
        rejectionFor('ORIGIN_REJECTED'),
      )
      expect(app.runs).toEqual([])
    })

    test('returns headers if it may set cookies, and only the body if not', async () => {
      const { headers, ...body } = await apiFor(way).setCookie()
      expect(headers.getSetCookie()).toEqual(['probe=1; Path=/', 'tried=2; Path=/'])
      expect(body).toEqual({ caller: null, text: '' })
      expect(Object.keys(await apiFor(way).readAsAnyone())).toEqual(['caller', 'text'])
    })
  })

  describe('a rejection', () => {
    test.each<{ rejection: string; run: (api: ProbeApi) => Promise<unknown>; answer: object }>([
      {
        rejection: 'for an invalid input names the fields',
        run: (api) => api.writeAsUser({ text: 'x' }),
        answer: { code: 'INVALID_INPUT', status: 400, message: 'The request is not valid', fields: ['text'] },
      },
      {
        rejection: 'by a plugin keeps its code and its message',
        run: (api) => api.takeName(),
        answer: { code: 'PROBE_TAKEN', status: 409, message: 'Somebody has it already', fields: [] },
      },
      {
        rejection: 'with Retry-After keeps the seconds',
        run: (api) => api.spend(),
        answer: rejectionFor('RATE_LIMITED', 42),
      },
      {
        rejection: 'of a sign-in without a second factor keeps the challenge',
        run: (api) => api.challenge(),
        answer: { ...rejectionFor('FACTOR_REQUIRED'), challenge: PROBE_CHALLENGE },
      },
    ])('$rejection', async ({ run, answer }) => {
      const { cookie } = await app.signIn()
      expect(await answerOf(run(apiFor(way, { cookie })))).toEqual(answer)
    })

    test("isn't reported for a broken endpoint: the error is neither an AuthError nor an EndpointError", async () => {
      const { cookie } = await app.signIn()
      const error = await apiFor(way, { cookie })
        .breakDown()
        .catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect(isAuthError(error) || isEndpointError(error)).toBe(false)
    })
  })

  describe('the built-in endpoints', () => {
    test('sign in, return the user, refresh, and sign out', async () => {
      const { email } = await app.auth.createUser()
      const signedIn = await apiFor(way).signInEmail({ email, password: TEST_PASSWORD })
      const cookie = cookieOf(signedIn.headers)
      const { user, session } = await apiFor(way, { cookie }).getSession()
      expect(user).toMatchObject({ email, locale: 'en' })
      expect(session).toMatchObject({ id: signedIn.sessionId, toured: false })

      const refreshed = await apiFor(way, { cookie }).token()
      expect(refreshed.headers.getSetCookie().some((header) => header.startsWith('service.jwt='))).toBe(true)

      const { headers } = await apiFor(way, { cookie }).signOut()
      expect(headers.getSetCookie()).toContainEqual(expect.stringMatching(/^service\.jwt=;.*Max-Age=0/))
      expect(await answerOf(apiFor(way, { cookie }).getSession())).toEqual(rejectionFor('SESSION_NOT_FOUND'))
    })

    test('sign a banned user out', async () => {
      const session = await app.signIn()
      await app.auth.ban(session)
      const { success } = await apiFor(way, { cookie: session.cookie }).signOut()
      expect(success).toBe(true)
    })
  })
})

/** Signs a user in. */
async function signInAs(who: string): Promise<TestSession> {
  const session = await app.signIn({ role: who === 'admin' ? 'admin' : 'user' })
  if (who === 'userOfLongAgo') {
    await app.auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(0) })
      .where('id', '=', session.sessionId)
      .execute()
  }
  return session
}

/** Looks a session up, as an action's guard does in Step 2. */
function findSession(way: Way, key: { userId: string; sessionId: string }): Promise<Session> {
  const proved = { ...key, version: 1, issuer: app.auth.config.issuer }
  const { auth } = createAuthContext(app.auth.config).headers({})
  const store = way === 'direct' ? storeOf({ auth, db: app.db }) : selectStore({ auth }, app.runners[way])
  return validateSession(proved, store.sessions, app.auth.config)
}

function reasonOf(call: Promise<unknown>): Promise<Reason | null> {
  return call.then(() => null, reasonOfError)
}

function reasonOfError(error: unknown): Reason {
  if (isAuthError(error)) return error.reason
  throw error
}

/** Returns the browser's `Cookie` header after a response set cookies. */
function cookieOf(headers: Headers): string {
  return headers
    .getSetCookie()
    .map((header) => header.split(';')[0])
    .join('; ')
}
