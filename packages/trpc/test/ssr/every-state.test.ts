import type { TestSession } from '@sallyport/core/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parseSetCookie } from '../../src/ssr/with-cookies.ts'
import { cookieWith, createScene, ENDPOINTS, JWTS, pageRequest, type Scene, SOURCES } from './scene.ts'

const SESSIONS = ['valid', 'expired', 'deleted', 'banned'] as const
type SessionState = (typeof SESSIONS)[number]

/** The outcome for a page. */
interface Outcome {
  /** The status before and after the router was called. */
  readonly first: string
  readonly last: string
  readonly reason: string | null
  readonly calls: number
  readonly cookies: readonly string[]
  /** The response of a guarded procedure. */
  readonly answer: string
}

const SET = ['service.jwt set']
const CLEARED = ['service.jwt deleted', 'service.session deleted']

/** Step 2's result for a JWT that Step 1 accepted. */
const decided = {
  valid: { last: 'authenticated', reason: null, answer: 'the user' },
  expired: { last: 'unauthenticated', reason: 'SESSION_EXPIRED', answer: 'SESSION_EXPIRED' },
  deleted: { last: 'unauthenticated', reason: 'SESSION_NOT_FOUND', answer: 'SESSION_NOT_FOUND' },
  banned: { last: 'unknown', reason: 'ACCOUNT_BANNED', answer: 'ACCOUNT_BANNED' },
} as const

/** Step 1's result for the browser's own JWT. */
const rejected = { expired: 'TOKEN_EXPIRED', missing: 'TOKEN_MISSING', garbage: 'TOKEN_INVALID' } as const

const byOwnJwt = (session: SessionState, calls: number): Outcome => ({
  first: 'authenticated',
  calls,
  cookies: [],
  ...decided[session],
})

const unknown = (reason: string, answer: string): Outcome => ({
  first: 'unknown',
  last: 'unknown',
  reason,
  calls: 1,
  cookies: [],
  answer,
})

/** Returns the outcome after a response of the token endpoint, for any JWT. */
const byEndpoint = (session: 'valid' | 'expired' | 'deleted'): Outcome => {
  if (session === 'valid') return { ...byOwnJwt(session, 1), cookies: SET }
  const { reason } = decided[session]
  const status = { first: 'unauthenticated', last: 'unauthenticated' }
  // The router sees none of the old cookies.
  return { ...status, reason, calls: 1, cookies: CLEARED, answer: 'TOKEN_MISSING' }
}

function expected(jwt: (typeof JWTS)[number], session: SessionState, isUp: boolean): Outcome {
  if (jwt === 'valid') return byOwnJwt(session, 0)
  if (isUp && session !== 'banned') return byEndpoint(session)
  if (jwt === 'about to expire') {
    return isUp ? { ...unknown('ACCOUNT_BANNED', 'ACCOUNT_BANNED') } : byOwnJwt(session, 1)
  }
  return unknown(isUp ? 'ACCOUNT_BANNED' : 'SESSIONS_UNAVAILABLE', rejected[jwt])
}

const rows = JWTS.flatMap((jwt) =>
  SESSIONS.flatMap((session) => ENDPOINTS.map((endpoint) => ({ jwt, session, endpoint }))),
)

describe.each(SOURCES)('with a token endpoint %s', (source) => {
  let scene: Scene
  let userId: string
  beforeAll(async () => {
    scene = await createScene(source)
    userId = (await scene.auth.createUser()).userId
  })
  beforeEach(async () => {
    scene.asked.length = 0
    scene.endpoint = 'up'
    await scene.auth.db.updateTable('user').set({ banned: false }).execute()
  })
  afterAll(() => scene.close())

  const bringAbout: Record<SessionState, (session: TestSession) => Promise<void>> = {
    valid: async () => {},
    expired: (session) => scene.auth.expireSession(session),
    deleted: (session) => scene.auth.revoke(session),
    banned: (session) => scene.auth.ban(session),
  }

  test.each(rows)('JWT $jwt, session $session, endpoint $endpoint', async ({ jwt, session, endpoint }) => {
    const signedIn = await scene.auth.signIn({ userId })
    const request = pageRequest(await cookieWith(jwt, scene, signedIn))
    await bringAbout[session](signedIn)
    scene.endpoint = endpoint

    const page = await scene.serverAuth(request)
    const first = page.state
    if (first.status === 'authenticated')
      expect(first).toMatchObject({ userId, sessionId: signedIn.sessionId })
    const answered = await scene.me(page)

    const { state } = page
    const shown = state.status === 'unknown' ? (state.reason ?? null) : null
    expect(shown).toBe(page.reason === 'ACCOUNT_BANNED' ? 'ACCOUNT_BANNED' : null)
    const outcome: Outcome = {
      first: first.status,
      last: page.state.status,
      reason: page.reason,
      calls: scene.asked.length,
      cookies: page.setCookies.map(summary),
      answer: answered === userId ? 'the user' : String(answered),
    }
    expect(outcome).toEqual(expected(jwt, session, endpoint === 'up'))
  })
})

function summary(setCookie: string): string {
  const { name, value } = parseSetCookie(setCookie)
  return `${name} ${value === '' && setCookie.includes('Max-Age=0') ? 'deleted' : 'set'}`
}
