import { AuthError, type ProvedIdentity, type Reason } from '@sallyport/core'
import type { TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { callerFor, connectHttp, connectWebSocket } from '../support/connect.ts'
import { outcomeOf } from '../support/outcome.ts'
import { startServer } from '../support/start-server.ts'
import { browser, FOREIGN, type Visitor } from '../support/visitor.ts'

const server = await startServer({ upgradeCheck: 'missing' })
afterEach(() => server.clear())
afterAll(() => server.close())

const jwt = (token: string) => `service.jwt=${token}`
const sessionCookie = (session: TestSession) => `service.session=${session.sessionCookie}`

type Given = (session: TestSession) => Visitor | Promise<Visitor>

const ROWS: { given: string; visitor: Given; answer: 'the user' | 'null' | Reason }[] = [
  { given: 'both cookies', visitor: (session) => browser(session), answer: 'the user' },
  { given: 'a JWT only', visitor: ({ token }) => browser({ cookie: jwt(token) }), answer: 'the user' },
  { given: 'no credential', visitor: () => browser(), answer: 'null' },
  { given: 'no credential, from a foreign origin', visitor: () => ({ headers: FOREIGN }), answer: 'null' },
  {
    given: 'a session cookie only',
    visitor: (session) => browser({ cookie: sessionCookie(session) }),
    answer: 'TOKEN_EXPIRED',
  },
  {
    given: 'an expired JWT with its session cookie',
    visitor: async (session) => browser(await server.auth.expireJwt(session)),
    answer: 'TOKEN_EXPIRED',
  },
  {
    given: 'an expired JWT without session cookie',
    visitor: async (session) => browser({ cookie: jwt((await server.auth.expireJwt(session)).token) }),
    answer: 'TOKEN_EXPIRED',
  },
  {
    given: 'an invalid JWT with a session cookie',
    visitor: (session) => browser({ cookie: `${jwt('nonsense')}; ${sessionCookie(session)}` }),
    answer: 'TOKEN_EXPIRED',
  },
  {
    given: 'an invalid JWT without session cookie',
    visitor: () => browser({ cookie: jwt('nonsense') }),
    answer: 'TOKEN_INVALID',
  },
  {
    given: 'a deleted session',
    async visitor(session) {
      await server.auth.revoke(session)
      return browser(session)
    },
    answer: 'null',
  },
  {
    given: 'an expired session',
    async visitor(session) {
      await server.auth.expireSession(session)
      return browser(session)
    },
    answer: 'null',
  },
  {
    given: 'a banned account',
    async visitor(session) {
      await server.auth.ban(session)
      return browser(session)
    },
    answer: 'ACCOUNT_BANNED',
  },
  {
    given: 'a store that is down',
    visitor(session) {
      server.store.answer = () => Promise.reject(new Error('down'))
      return browser(session)
    },
    answer: 'SESSIONS_UNAVAILABLE',
  },
  {
    given: 'a key set that is down',
    visitor(session) {
      server.keys.fault = new Error('down')
      return browser(session)
    },
    answer: 'KEYS_UNAVAILABLE',
  },
  {
    given: 'a foreign origin',
    visitor: ({ cookie }) => ({ headers: { ...FOREIGN, cookie } }),
    answer: 'ORIGIN_REJECTED',
  },
  {
    given: 'two cookies of one name',
    visitor: ({ cookie }) => browser({ cookie: `${cookie}; ${cookie}` }),
    answer: 'COOKIE_CONFLICT',
  },
]

describe.each(ROWS)('optionalSessionMiddleware with $given: $answer', ({ visitor, answer }) => {
  test.each([
    {
      transport: 'httpLink',
      whoami: (who: Visitor) => connectHttp(server, who, 'httpLink over node').client.whoami.query(),
    },
    {
      transport: 'httpBatchStreamLink',
      whoami: (who: Visitor) =>
        connectHttp(server, who, 'httpBatchStreamLink over fetch').client.whoami.query(),
    },
    { transport: 'wsLink', whoami: (who: Visitor) => connectWebSocket(server, who).whoami.query() },
    { transport: 'createCaller', whoami: (who: Visitor) => callerFor(server, who).whoami() },
  ])('over $transport', async ({ whoami }) => {
    const session = await server.auth.signIn()
    const { data, rejection } = await outcomeOf(whoami(await visitor(session)))
    const isLetIn = answer === 'the user' || answer === 'null'
    expect(rejection?.auth ?? null).toEqual(
      isLetIn ? null : expect.objectContaining({ reason: answer, replay: true }),
    )
    if (isLetIn) expect(data).toBe(answer === 'null' ? null : session.userId)
    expect(server.stage.runs).toEqual(isLetIn ? ['whoami'] : [])
  })
})

describe('optionalSessionMiddleware with the cookie of another library', () => {
  const invalid = () => Promise.reject(new AuthError('TOKEN_INVALID'))
  const down = () => Promise.reject(new Error('down'))
  const proved = async ({ userId, sessionId, version }: TestSession, replaced = 0) => {
    const keyId = server.auth.definition.signingKeys.active.kid
    return { userId, sessionId, version: (version ?? 0) + replaced, keyId }
  }

  test.each<[string, (session: TestSession) => Promise<ProvedIdentity>, 'the user' | null | Reason]>([
    ['that proves who the caller is: the user', proved, 'the user'],
    ['without a valid signature: null', invalid, null],
    ['that cannot be checked: SESSIONS_UNAVAILABLE', down, 'SESSIONS_UNAVAILABLE'],
    ['whose credentials were replaced: TOKEN_INVALID', (it) => proved(it, 1), 'TOKEN_INVALID'],
  ])('%s', async (_name, verify, expected) => {
    const session = await server.auth.signIn()
    const proof = { readToken: () => session.sessionId, verify: () => verify(session) }
    const config = { ...server.config, proof }
    const call = callerFor({ ...server, config }, browser({ cookie: 'other=1' })).whoami()
    const { data, rejection } = await outcomeOf(call)
    expect(rejection?.auth?.reason ?? data).toBe(expected === 'the user' ? session.userId : expected)
  })
})

test('optionalSessionMiddleware asks for a refresh, and keeps the first reason for the server', async () => {
  const visitor = browser({ cookie: sessionCookie(await server.auth.signIn()) })
  await expect(callerFor(server, visitor).whoami()).rejects.toMatchObject({
    cause: { reason: 'TOKEN_EXPIRED', cause: { reason: 'TOKEN_MISSING' } },
  })
})

test('optionalSessionMiddleware rejects a ctx.db without a store, as a wrong configuration', async () => {
  const caller = callerFor({ ...server, db: JSON.parse('{}') }, browser())
  const { rejection } = await outcomeOf(caller.whoami())
  expect(rejection).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', auth: null })
})
