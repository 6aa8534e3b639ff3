import { isAuthError, verifyJwt } from '@sallyport/core'
import type { TestSession } from '@sallyport/core/testing'
import { localRunner, type RunnerCall } from '@sallyport/trpc/action'
import { TRPCError } from '@trpc/server'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../../../core/test/support/temporary-directory.ts'
import { createInternalScene } from '../../support/internal-scene.ts'

const directory = temporaryDirectory()
const scene = await createInternalScene(directory)
const ada = await scene.auth.signIn()
const runners = { localRunner: localRunner(scene.node.functions), httpRunner: scene.runnerFor(scene.node) }
beforeEach(() => scene.reset())
afterAll(() => scene.close())

describe.each(['localRunner', 'httpRunner'] as const)('with %s', (name) => {
  const run = (path: string, input: unknown, type: RunnerCall['type'] = 'mutation') =>
    runners[name].run({ type, path: `sallyport.${path}`, input, actor: null })
  const callEndpoint = (input: unknown, type: RunnerCall['type'] = 'mutation') =>
    run(type === 'query' ? 'queryEndpoint' : 'mutateEndpoint', input, type)
  const findSession = (input: unknown) => run('findSession', input, 'query')
  const consumeLimit = (input: unknown) => run('consumeLimit', input)
  const endpoint = (
    endpointName: string,
    { cookie = ada.cookie, input = {}, origin = 'http://localhost:3000' } = {},
  ) => ({
    name: endpointName,
    input,
    request: { method: 'POST', headers: { cookie, origin }, remoteAddress: '192.0.2.7' },
  })

  test('finds a session by its id and its user', async () => {
    const { sessionId, userId } = ada
    const session = await scene.auth.database.sessions.findSession({ sessionId, userId })
    expect(await findSession({ sessionId, userId })).toEqual(JSON.parse(JSON.stringify(session)))
    for (const key of [
      { sessionId, userId: 'eve' },
      { sessionId: 'none', userId },
      { sessionId: '\0', userId: '' },
    ])
      expect(await findSession(key)).toBeNull()
    const keys = [
      { sessionId: 'none', userId },
      { sessionId, userId },
    ]
    const found = [null, expect.objectContaining({ id: sessionId })]
    expect(await run('findSessions', keys, 'query')).toEqual(found)
  })

  test('counts attempts', async () => {
    const input = { key: `procedure:${crypto.randomUUID()}`, limit: { points: 2, duration: 60 } }
    expect([await consumeLimit(input), await consumeLimit(input), await consumeLimit(input)]).toEqual([
      null,
      null,
      60,
    ])
  })

  test("calls an endpoint with the user's credentials", async () => {
    expect(await callEndpoint(endpoint('getSession'), 'query')).toEqual({
      body: {
        session: expect.objectContaining({ id: ada.sessionId }),
        user: expect.objectContaining({ id: ada.userId }),
      },
    })
  })

  test('returns the cookies that an endpoint sets', async () => {
    const session = await scene.auth.signIn()
    const answer = await callEndpoint(endpoint('signOut', { cookie: session.cookie }))
    expect(answer).toEqual({ body: { success: true }, cookies: [expect.any(String), expect.any(String)] })
  })

  describe('on behalf of an acting user', () => {
    const runAs = async (actor: TestSession, cookie: string) =>
      runners[name].run({
        type: 'query',
        path: 'sallyport.queryEndpoint',
        input: endpoint('getSession', { cookie }),
        actor: await verifyJwt(actor.token, scene.auth.config),
      })

    test("accepts the session's expired JWT, since the identity outlives it", async () => {
      const session = await scene.auth.signIn()
      const { cookie } = await scene.auth.expireJwt(session)
      expect(await runAs(session, cookie)).toMatchObject({ body: { user: { id: session.userId } } })
    })

    test("rejects the session's JWT of an older version", async () => {
      const session = await scene.auth.signIn()
      const headers = { cookie: session.cookie, 'x-sallyport': '1' }
      const url = `${scene.auth.config.baseUrl}/api/auth/revoke-copies`
      const renewal = await scene.auth.handler(new Request(url, { method: 'POST', headers }))
      const [, token = ''] = /service\.jwt=([^;]+)/.exec(renewal.headers.getSetCookie().join()) ?? []
      const running = runAs({ ...session, token }, `service.jwt=${session.token}`)
      await expect(running).rejects.toMatchObject({ reason: 'TOKEN_INVALID' })
    })

    test.each<[string, (session: TestSession) => Promise<string> | string, string]>([
      ['no credentials', () => '', 'TOKEN_MISSING'],
      ["another user's", async () => (await scene.auth.expireJwt(ada)).cookie, 'TOKEN_INVALID'],
      [
        "the user's with another user's session cookie",
        async (session) => {
          const { token } = await scene.auth.expireJwt(session)
          return `service.jwt=${token}; service.session=${ada.sessionCookie}`
        },
        'TOKEN_INVALID',
      ],
      [
        'a JWT with an invalid signature',
        ({ token }) => `service.jwt=${token.slice(0, -4)}AAAA`,
        'TOKEN_INVALID',
      ],
      [
        'the session cookie alone',
        ({ sessionCookie }) => `service.session=${sessionCookie}`,
        'TOKEN_MISSING',
      ],
    ])('a service key alone authorizes no endpoint: %s', async (_what, cookieOf, reason) => {
      const session = await scene.auth.signIn()
      await expect(runAs(session, await cookieOf(session))).rejects.toMatchObject({ reason })
    })
  })

  test.each<[string, Parameters<typeof endpoint>, RunnerCall['type'], unknown]>([
    ['nobody', ['getSession', { cookie: '' }], 'query', 'TOKEN_MISSING'],
    [
      'a page of another site',
      ['revokeOtherSessions', { origin: 'https://evil.example' }],
      'mutation',
      'ORIGIN_REJECTED',
    ],
    ['a user without the admin role', ['listUsers'], 'query', 'ROLE_REQUIRED'],
  ])('still rejects %s', async (_who, args, type, reason) => {
    await expect(callEndpoint(endpoint(...args), type)).rejects.toMatchObject({ reason })
  })

  test.each(['signOut', 'revokeOtherSessions', 'token', 'updateUser'])(
    'rejects the writing endpoint %s as a query, whose token is not consumed',
    async (endpointName) => {
      await expect(callEndpoint(endpoint(endpointName), 'query')).rejects.toMatchObject({
        name: 'ConfigurationError',
        code: 'WRITE_IN_QUERY',
      })
    },
  )

  test.each(['none', 'constructor', 'toString', '__proto__', 'createSession', ''])(
    'has no endpoint %j',
    async (endpointName) => {
      const calling = callEndpoint(endpoint(endpointName))
      await expect(calling).rejects.toMatchObject({
        code: 'BAD_REQUEST',
        message: `auth.api.${endpointName} was not found`,
      })
    },
  )

  const call = { name: 'getSession', input: {}, request: { method: 'GET', headers: {}, remoteAddress: null } }
  test.each<[string, unknown]>([
    ['findSession', undefined],
    ['findSession', null],
    ['findSession', { sessionId: 's' }],
    ['findSession', { userId: 'u' }],
    ['findSession', { sessionId: 1, userId: 'u' }],
    ['findSessions', { sessionId: 's', userId: 'u' }],
    ['findSessions', [{ sessionId: 's', userId: 'u' }, null]],
    ['consumeLimit', { key: 'procedure:k' }],
    ['consumeLimit', { key: 'sign-in:ada', limit: { points: 1, duration: 1 } }],
    ['consumeLimit', { key: `procedure:${'x'.repeat(1_001)}`, limit: { points: 1, duration: 1 } }],
    ['consumeLimit', { key: 1, limit: { points: 1, duration: 1 } }],
    ['consumeLimit', { key: 'procedure:k', limit: { points: '1', duration: 1 } }],
    ['consumeLimit', { key: 'procedure:k', limit: { points: 1 } }],
    ['mutateEndpoint', 'getSession'],
    ['mutateEndpoint', { ...call, name: 1 }],
    ['mutateEndpoint', { ...call, input: null }],
    ['mutateEndpoint', { ...call, request: null }],
    ['mutateEndpoint', { ...call, request: { ...call.request, method: 1 } }],
    ['mutateEndpoint', { ...call, request: { ...call.request, headers: null } }],
    ['mutateEndpoint', { ...call, request: { ...call.request, headers: { cookie: ['a'] } } }],
    ['mutateEndpoint', { ...call, request: { ...call.request, remoteAddress: 1 } }],
  ])('rejects a call of %s with %j', async (path, input) => {
    const type = path.startsWith('findSession') ? 'query' : 'mutation'
    await expect(run(path, input, type)).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      message: 'The input is invalid. Run the same version in both processes',
    })
  })

  test('rejects an invalid limit', async () => {
    const counting = consumeLimit({ key: 'procedure:k', limit: { points: 0, duration: 60 } })
    await expect(counting).rejects.toThrow('limit.points must be a positive whole number')
  })

  test('distinguishes a failed lookup from a missing session', async () => {
    scene.store.answer = () => Promise.reject(new Error('The database is gone'))
    const finding = findSession({ sessionId: ada.sessionId, userId: ada.userId })
    const error: unknown = await finding.catch((reason: unknown) => reason)
    expect(isAuthError(error) ? error.reason : error).toBe('SESSIONS_UNAVAILABLE')
    expect(error).not.toBeInstanceOf(TRPCError)
  })
})
