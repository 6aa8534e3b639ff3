import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { type Identity, isAuthError, verifyJwt } from '@sallyport/core'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { isConfigurationError } from '@sallyport/core/internal/server'
import {
  type HttpRunnerOptions,
  type HttpRunnerRequest,
  httpRunner,
  type RunnerCall,
} from '@sallyport/trpc/action'
import { TRPCError } from '@trpc/server'
import { Agent, fetch as fetchOver } from 'undici'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDirectory } from '../../../../core/test/support/temporary-directory.ts'
import { until } from '../../../../core/test/support/until.ts'
import { createInternalScene, holdWork, overNoNetwork } from '../../support/internal-scene.ts'
import { errorEnvelope } from '../../support/service-call.ts'
import { soon } from '../../support/soon.ts'

const directory = temporaryDirectory()
const LIST: RunnerCall = { type: 'query', path: 'report.list', input: undefined, actor: null }
const SAVE: RunnerCall = { type: 'mutation', path: 'report.save', input: { title: 'One' }, actor: null }
const withKey = (call: RunnerCall): RunnerCall => ({ ...call, idempotencyKey: crypto.randomUUID() })

const scene = await createInternalScene(directory)
beforeEach(() => scene.reset())
afterAll(() => scene.close())

/** Returns how a call ended, as its caller sees it. */
async function endOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    if (isAuthError(error)) return error.reason
    if (error instanceof TRPCError) return error.code
    if (isConfigurationError(error)) return error.message
    throw error
  }
}

type Reply = (attempt: number, init: HttpRunnerRequest) => Promise<Response> | Response

/** Creates a runner that records its attempts. The node or the test responds. */
function runnerWith(
  reply: Reply = (_attempt, init) => scene.node.handler(new Request('http://localhost/internal', init)),
  options: Partial<HttpRunnerOptions> = {},
) {
  const attempts: HttpRunnerRequest[] = []
  const runner = scene.runnerFor(scene.node, {
    async fetch(_url, init) {
      attempts.push(init)
      return reply(attempts.length, init)
    },
    ...options,
  })
  return { runner, attempts }
}

/** Returns the claims of an attempt's token. */
function tokenOf({ headers }: HttpRunnerRequest): Record<string, unknown> {
  const [, payload = ''] = headers.authorization?.split('.') ?? []
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

describe('a request', () => {
  test('carries a service JWT that is bound to it, and nothing that a browser would send', async () => {
    const { token } = await scene.auth.signIn()
    const actor = await verifyJwt(token, scene.auth.config)
    const { runner, attempts } = runnerWith()
    const call = { ...withKey(SAVE), actor }
    await runner.run(call)
    const [{ headers, redirect, cache, body, method } = expect.fail()] = attempts
    expect({ method, redirect, cache, headers: Object.keys(headers) }).toEqual({
      method: 'POST',
      redirect: 'manual',
      cache: 'no-store',
      headers: ['authorization', 'content-type'],
    })
    expect(new TextDecoder().decode(body)).toBe(
      '{"type":"mutation","path":"report.save","input":{"title":"One"}}',
    )
    const issuedAt = Math.floor(scene.auth.clock.now().getTime() / 1000)
    expect(tokenOf(attempts[0] ?? expect.fail())).toEqual({
      iss: 'edge',
      aud: 'http://localhost:3000/internal',
      iat: issuedAt,
      exp: issuedAt + 30,
      jti: expect.any(String),
      fn: 'report.save',
      op: 'mutation',
      body: expect.stringMatching(/^[\w-]{43}$/),
      act: {
        sub: actor.userId,
        sessionId: actor.sessionId,
        version: 1,
        iss: actor.issuer,
        kid: actor.keyId,
        exp: actor.expiresAt.getTime() / 1000,
      },
      idempotencyKey: call.idempotencyKey,
    })
  })
})

describe("a response that isn't clearly from the internal handler is 503, never 401", () => {
  const json = (body: unknown, status = 200) => Response.json(body, { status })
  const result = (data: unknown, status = 200) => json({ id: 'sallyport.internal', result: { data } }, status)
  /** Has the data of a TRPCError NOT_FOUND by default. */
  const failure = (data: object, { status = 404, ...members }: { status?: number; message?: unknown } = {}) =>
    json(errorEnvelope({ code: 'NOT_FOUND', httpStatus: 404, ...data }, members), status)
  test.each<[string, () => Response | Promise<Response>]>([
    ['a network failure', () => Promise.reject(new TypeError('fetch failed'))],
    ["a proxy's page", () => new Response('<h1>Bad Gateway</h1>', { status: 502 })],
    ["a proxy's 401", () => new Response('Unauthorized', { status: 401 })],
    ['a 401 with other JSON', () => json({ code: 'TOKEN_INVALID' }, 401)],
    ['nothing', () => new Response(null)],
    ['an empty response', () => new Response(null, { status: 204 })],
    ['invalid JSON', () => new Response('{')],
    ['invalid UTF-8', () => new Response(new Uint8Array([0x22, 0xff, 0x22]))],
    [
      'a result with invalid UTF-8',
      () => new Response(Buffer.from('{"id":"sallyport.internal","result":{"data":"\xff"}}', 'latin1')),
    ],
    ['null', () => json(null)],
    ["another server's health", () => json({ ok: true })],
    ['a result of another tRPC server', () => json({ result: { data: 1 } })],
    [
      "a guard's 401 on another tRPC server",
      () => {
        const auth = { reason: 'TOKEN_MISSING', retryAfterSeconds: null, replay: true }
        const { error } = errorEnvelope({ code: 'UNAUTHORIZED', httpStatus: 401, auth })
        return json({ error }, 401)
      },
    ],
    ['a result with another status', () => result(1, 404)],
    ['an error with the status of a result', () => failure({}, { status: 200 })],
    ['a list', () => json([{ id: 'sallyport.internal', result: {} }])],
    ['an invalid result', () => json({ id: 'sallyport.internal', result: 1 })],
    [
      'a result and an error',
      () => json({ ...errorEnvelope({ code: 'NOT_FOUND', httpStatus: 200 }), result: { data: 1 } }),
    ],
    ['neither a result nor an error', () => json({ id: 'sallyport.internal' })],
    ['an error without data', () => json({ id: 'sallyport.internal', error: { message: '' } }, 404)],
    ['an error that does not say whether the call was rejected', () => failure({ rejection: undefined })],
    ['an error of another kind', () => failure({ auth: undefined })],
    ['an unknown reason', () => failure({ auth: { reason: 'toString', retryAfterSeconds: null } })],
    ['a reason without retryAfterSeconds', () => failure({ auth: { reason: 'SESSION_NOT_FOUND' } })],
    ['an unknown tRPC code', () => failure({ code: 'TEAPOT' })],
    ['a function without a message', () => failure({}, { message: undefined })],
    ["an endpoint with fields that aren't strings", () => failure({ endpoint: { code: 'A', fields: [1] } })],
    ['an invalid configuration error', () => failure({ configuration: 'CONTEXT_EMPTY' })],
    ['a redirect', () => new Response(null, { status: 307, headers: { location: 'https://evil.example' } })],
    ['an unknown rejection', () => failure({ rejection: 'toString' })],
    ['a response that is too large', () => result('x'.repeat(2_000))],
    [
      'a response that breaks off',
      () => new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })),
    ],
  ])('%s', async (_what, reply) => {
    const { runner, attempts } = runnerWith(reply, { maxResponseBytes: 1_000 })
    expect(await endOf(runner.run(SAVE))).toBe('SESSIONS_UNAVAILABLE')
    expect(attempts).toHaveLength(1)
    // Otherwise a wrong key would look like an outage.
    expect(scene.runnerErrors).toMatchObject([{ name: 'CallRejection' }])
  })

  test.each([
    ['CALL_INVALID', 'SESSIONS_UNAVAILABLE'],
    ['TOKEN_MISSING', 'SESSIONS_UNAVAILABLE'],
    ['TOKEN_INVALID', 'SESSIONS_UNAVAILABLE'],
    ['TOKEN_EXPIRED', 'SESSIONS_UNAVAILABLE'],
    ['TOKEN_REPLAYED', 'SESSIONS_UNAVAILABLE'],
    ['ORIGIN_REJECTED', 'SESSIONS_UNAVAILABLE'],
    ['METHOD_NOT_ALLOWED', 'SESSIONS_UNAVAILABLE'],
    ['UNDECIDED', 'SESSIONS_UNAVAILABLE'],
    [
      'FUNCTION_NOT_FOUND',
      'The internal mutation report.save was not found. Check the router and getAuth of defineInternalFunctions',
    ],
    ['KEY_REUSED', 'CONFLICT'],
    ['PAYLOAD_TOO_LARGE', 'PAYLOAD_TOO_LARGE'],
  ])('a rejection of the service, %s, is %s for the user', async (rejection, expected) => {
    const { runner, attempts } = runnerWith(() => failure({ rejection }))
    expect(await endOf(runner.run(SAVE))).toBe(expected)
    expect(attempts).toHaveLength(1)
  })

  test.each<[string, () => Promise<Partial<HttpRunnerOptions>>]>([
    [
      "a key that the listener doesn't have",
      async () => ({ service: { name: 'edge', signingKeys: { keys: [await createSigningKey()] } } }),
    ],
    [
      'a clock that is a minute behind',
      async () => ({
        config: { ...scene.auth.config, now: () => new Date(scene.auth.clock.now().getTime() - 60_000) },
      }),
    ],
    [
      'a clock that is a minute ahead',
      async () => ({
        config: { ...scene.auth.config, now: () => new Date(scene.auth.clock.now().getTime() + 60_000) },
      }),
    ],
    [
      'another app',
      async () => ({ config: { ...scene.auth.config, audience: 'https://other.example.com' } }),
    ],
  ])('fails with SESSIONS_UNAVAILABLE for a service with %s', async (_what, options) => {
    const { runner } = runnerWith(undefined, await options())
    expect(await endOf(runner.run(SAVE))).toBe('SESSIONS_UNAVAILABLE')
    expect(scene.work.runs).toEqual([])
  })
})

describe('if the outcome is unknown,', () => {
  const lost: Reply = () => Promise.reject(new TypeError('fetch failed'))
  /** Loses the first attempt, before it arrives or on its way back. */
  const lostOnce =
    (when: 'there' | 'back'): Reply =>
    async (attempt, init) => {
      const answer = () => scene.node.handler(new Request('http://localhost/internal', init))
      if (attempt > 1) return answer()
      if (when === 'back') await answer()
      throw new TypeError('fetch failed')
    }

  test.each(['there', 'back'] as const)('a query lost on the way %s is sent once more', async (when) => {
    const { runner, attempts } = runnerWith(lostOnce(when))
    expect(await runner.run(LIST)).toEqual({ by: null })
    expect(attempts).toHaveLength(2)
  })

  test('no query is sent a third time', async () => {
    const { runner, attempts } = runnerWith(lost)
    expect(await endOf(runner.run(LIST))).toBe('SESSIONS_UNAVAILABLE')
    expect(attempts).toHaveLength(2)
  })

  test.each(['there', 'back'] as const)(
    'a mutation with a key lost on the way %s is sent once more, and executed once',
    async (when) => {
      const { runner, attempts } = runnerWith(lostOnce(when))
      expect(await runner.run(withKey(SAVE))).toEqual({ title: 'One', by: null, id: 1 })
      expect(attempts).toHaveLength(2)
      expect(scene.work.runs).toEqual(['report.save'])
    },
  )

  test.each(['there', 'back'] as const)(
    'a mutation without one lost on the way %s is not sent again',
    async (when) => {
      const { runner, attempts } = runnerWith(lostOnce(when))
      expect(await endOf(runner.run(SAVE))).toBe('SESSIONS_UNAVAILABLE')
      expect(attempts).toHaveLength(1)
      expect(scene.work.runs).toHaveLength(when === 'back' ? 1 : 0)
    },
  )

  test('every attempt has a separate token, and the same body and key', async () => {
    const { runner, attempts } = runnerWith(lost)
    await endOf(runner.run(withKey(SAVE)))
    const [first, second] = attempts.map(tokenOf)
    expect(first?.jti).not.toBe(second?.jti)
    expect({ ...first, jti: '' }).toEqual({ ...second, jti: '' })
  })

  test.each<[string, RunnerCall, unknown]>([
    [
      'a query',
      { ...LIST, path: 'work.none' },
      'The internal query work.none was not found. Check the router and getAuth of defineInternalFunctions',
    ],
    ['a mutation', { ...withKey(SAVE), path: 'work.fail', input: 'trpc' }, 'PRECONDITION_FAILED'],
  ])('and if the outcome is known, %s is not sent again', async (_what, call, expected) => {
    const { runner, attempts } = runnerWith()
    expect(await endOf(runner.run(call))).toBe(expected)
    expect(attempts).toHaveLength(1)
  })

  test('a query that was rejected with an unknown code is sent once more', async () => {
    const { runner, attempts } = runnerWith(() => {
      const envelope = errorEnvelope({ code: 'UNAUTHORIZED', httpStatus: 401, rejection: 'toString' })
      return Response.json(envelope, { status: 401 })
    })
    expect(await endOf(runner.run(LIST))).toBe('SESSIONS_UNAVAILABLE')
    expect(attempts).toHaveLength(2)
  })

  test('both attempts share one timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { runner, attempts } = runnerWith(() => new Promise(() => {}), { timeoutMs: 300 })
    const call = runner.run(LIST)
    await until(() => attempts.length > 0)
    vi.advanceTimersByTime(300)
    expect(await endOf(call)).toBe('SESSIONS_UNAVAILABLE')
    expect(attempts).toHaveLength(1)
    expect(attempts[0]?.signal.aborted).toBe(true)
  })

  test('a caller who leaves before the second attempt is not awaited', async () => {
    const left = new AbortController()
    const { runner, attempts } = runnerWith(() => {
      setTimeout(() => left.abort(), 1)
      throw new TypeError('fetch failed')
    })
    expect(await endOf(runner.run({ ...LIST, signal: left.signal }))).toBe('CLIENT_CLOSED_REQUEST')
    expect(attempts).toHaveLength(1)
  })
})

describe('sends nothing', () => {
  test('for a caller who has left', async () => {
    const { runner, attempts } = runnerWith()
    expect(await endOf(runner.run({ ...LIST, signal: AbortSignal.abort() }))).toBe('CLIENT_CLOSED_REQUEST')
    expect(attempts).toEqual([])
  })

  test('for an input that is too large', async () => {
    const { runner, attempts } = runnerWith(undefined, { maxBodyBytes: 100 })
    const call = { ...SAVE, input: { title: 'x'.repeat(100) } }
    expect(await endOf(runner.run(call))).toBe('PAYLOAD_TOO_LARGE')
    expect(attempts).toEqual([])
  })

  test('while there are too many calls', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const { runner, attempts } = runnerWith(
      async (_attempt, init) => {
        await answered
        return scene.node.handler(new Request('http://localhost/internal', init))
      },
      { maxConcurrent: 2 },
    )
    const calls = [runner.run(LIST), runner.run(LIST)]
    expect(await endOf(runner.run(LIST))).toBe('SESSIONS_UNAVAILABLE')
    await soon(() => expect(attempts).toHaveLength(2))
    answer()
    await Promise.all(calls)
    for (let i = 0; i < 3; i++) expect(await runner.run(LIST)).toEqual({ by: null })
  })
})

describe('rejects at startup', () => {
  const create = (options: Partial<HttpRunnerOptions>) => () => scene.runnerFor(scene.node, options)

  test.each([
    'http://backend.example.com',
    'http://10.0.0.1/internal',
    'ws://localhost',
    'unix:/run/a.sock',
    '',
  ])('the url %j', (url) => {
    expect(create({ url })).toThrow('The url of httpRunner must be https, or http on this machine')
  })

  test.each(['https://backend.example.com', 'http://127.0.0.1:80', 'http://[::1]/', 'http://localhost'])(
    'but not %s',
    (url) => {
      expect(create({ url })).not.toThrow()
    },
  )

  test("a service without a name, or with a name that isn't valid in a token", () => {
    for (const name of ['', 'a\n', 'x'.repeat(201)])
      expect(create({ service: { name, signingKeys: scene.signingKeys } })).toThrow(/^service.name must be/)
  })

  test("missing keys, or keys that sign users' JWTs", () => {
    expect(create({ service: { name: 'edge', signingKeys: undefined } })).toThrow(
      /^SERVICE_SIGNING_KEYS is not set/,
    )
    const ofUsers = scene.auth.definition.signingKeys
    expect(create({ service: { name: 'edge', signingKeys: ofUsers } })).toThrow(
      /^SERVICE_SIGNING_KEYS: the key \S+ verifies JWTs of users too/,
    )
  })
})

describe('over a unix socket', () => {
  const socketPath = join(directory, 'internal.sock')
  const dispatcher = new Agent({ connect: { socketPath } })
  afterAll(() => dispatcher.destroy())
  const servers: Server[] = []
  const listen = async (handler = scene.node.handler) => {
    const server = createServer(getRequestListener(handler))
    await new Promise<void>((resolve) => server.listen(socketPath, resolve))
    servers.push(server)
    onTestFinished(stop)
  }
  /** Stops as at process exit, without waiting for calls. */
  async function stop(): Promise<void> {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
  const runner = () =>
    httpRunner({
      url: 'http://localhost/internal',
      service: { name: 'beside', signingKeys: scene.signingKeys },
      config: { ...scene.auth.config, onFailure: ({ cause }) => void scene.runnerErrors.push(cause) },
      fetch: (url, init) => fetchOver(url, { ...init, dispatcher }),
    })

  test('accepts a call that undici sends, and returns its result', async () => {
    await listen()
    const session = await scene.auth.signIn()
    const actor: Identity = await verifyJwt(session.token, scene.auth.config)
    expect(await runner().run({ ...SAVE, actor })).toEqual({ title: 'One', by: session.userId, id: 1 })
    await scene.auth.revoke(session)
    expect(await endOf(runner().run({ ...SAVE, actor }))).toBe('SESSION_NOT_FOUND')
  })

  test('a call is 503 if no server listens', async () => {
    for (const call of [LIST, SAVE, withKey(SAVE)])
      expect(await endOf(runner().run(call))).toBe('SESSIONS_UNAVAILABLE')
  })

  test.each<[string, RunnerCall, { end: unknown; runs: number }]>([
    ['a query is sent again', { ...LIST, path: 'work.wait' }, { end: 'done', runs: 2 }],
    [
      'a mutation is not',
      { ...SAVE, path: 'work.waitAndWrite', input: undefined },
      { end: 'SESSIONS_UNAVAILABLE', runs: 1 },
    ],
    [
      'a mutation with a key runs once, and its outcome is requested again',
      withKey({ ...SAVE, path: 'work.waitAndWrite', input: undefined }),
      { end: 'done', runs: 1 },
    ],
  ])('whose listener restarts during the call, %s', async (_what, call, { end, runs }) => {
    await listen()
    holdWork(scene.work)
    const outcome = endOf(runner().run(call))
    await soon(() => expect(scene.work.runs).toHaveLength(1))
    await stop()
    await listen()
    scene.work.finish()
    expect(await outcome).toBe(end)
    expect(scene.work.runs).toHaveLength(runs)
  })

  test('whose process ends during a mutation with a key, the outcome is unknown, and it never runs again', async () => {
    await listen()
    holdWork(scene.work)
    const call = withKey({ ...SAVE, path: 'work.waitAndWrite', input: undefined })
    const outcome = endOf(runner().run(call))
    await soon(() => expect(scene.work.runs).toHaveLength(1))
    await stop()
    // Another process with the same database. The previous one never finishes.
    await listen((await scene.openNode()).handler)
    expect(await outcome).toBe('SESSIONS_UNAVAILABLE')
    expect(await endOf(runner().run(call))).toBe('SESSIONS_UNAVAILABLE')
    expect(scene.work.runs).toHaveLength(1)
  })

  test("a caller who leaves closes the connection, which aborts the function's signal", async () => {
    await listen()
    holdWork(scene.work)
    const left = new AbortController()
    const call = endOf(runner().run({ ...LIST, path: 'work.wait', signal: left.signal }))
    await soon(() => expect(scene.work.signal).toBeDefined())
    left.abort()
    expect(await call).toBe('CLIENT_CLOSED_REQUEST')
    await soon(() => expect(scene.work.signal?.aborted).toBe(true))
  })
})

test("without its own fetch, it uses the platform's", async () => {
  const server = createServer(getRequestListener(scene.node.handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : null
  const runner = httpRunner({
    url: `http://127.0.0.1:${port}/internal`,
    service: { name: 'beside', signingKeys: scene.signingKeys },
    config: scene.auth.config,
  })
  expect(await runner.run(LIST)).toEqual({ by: null })
  server.closeAllConnections()
})

test('large responses arrive completely', async () => {
  const runner = scene.runnerFor(scene.node, { fetch: overNoNetwork(scene.node.handler) })
  const call: RunnerCall = { ...LIST, path: 'work.large', input: 1_000_000 }
  expect(await runner.run(call)).toHaveLength(1_000_000)
})
