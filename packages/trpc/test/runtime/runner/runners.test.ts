import { type Identity, isAuthError, isEndpointError, verifyJwt } from '@sallyport/core'
import { isConfigurationError } from '@sallyport/core/internal/server'
import type { TestSession } from '@sallyport/core/testing'
import { type CallLimits, localRunner, type Runner, type RunnerCall } from '@sallyport/trpc/action'
import { TRPCError } from '@trpc/server'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDirectory } from '../../../../core/test/support/temporary-directory.ts'
import { until } from '../../../../core/test/support/until.ts'
import {
  createInternalScene,
  type Failure,
  holdWork,
  type InternalNode,
} from '../../support/internal-scene.ts'
import { soon } from '../../support/soon.ts'

const directory = temporaryDirectory()
const scene = await createInternalScene(directory)
const ada = await scene.auth.signIn()
const identityOf = ({ token }: TestSession) => verifyJwt(token, scene.auth.config)
const actor = await identityOf(ada)
beforeEach(() => scene.reset())
afterAll(() => scene.close())

/** Returns an error with everything that a caller may rely on. */
async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return { accepted: await promise }
  } catch (error) {
    if (isAuthError(error)) return { reason: error.reason, retryAfterSeconds: error.retryAfterSeconds }
    if (isEndpointError(error)) {
      const { code, status, message, fields } = error
      return { code, status, message, fields }
    }
    if (isConfigurationError(error)) return { configuration: error.message, code: error.code }
    if (error instanceof TRPCError) return { code: error.code, message: error.message }
    return error
  }
}

const UNAVAILABLE = { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 1 }

describe.each<[string, (node: InternalNode, limits?: CallLimits) => Runner]>([
  ['localRunner', (node, limits) => localRunner(node.functions, limits)],
  ['httpRunner', (node, limits) => scene.runnerFor(node, limits)],
])('%s', (name, runnerFor) => {
  /** Calls the scene's node. */
  const run = (call: Partial<RunnerCall> & Pick<RunnerCall, 'path'>, node = scene.node) =>
    runnerFor(node).run({ type: 'query', input: undefined, actor: null, ...call })
  const save = (call: Partial<RunnerCall> = {}, node = scene.node) =>
    run({ type: 'mutation', path: 'report.save', input: { title: 'One' }, ...call }, node)
  const newKey = () => crypto.randomUUID()

  describe('serializes inputs and results as JSON:', () => {
    test.each<[string, unknown, unknown]>([
      ['nothing', undefined, undefined],
      ['null', null, null],
      ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
      ['not a number', Number.NaN, null],
      ['members that are undefined', { a: undefined, b: [undefined] }, { b: [null] }],
      ['an object of a class', new Map([['a', 1]]), {}],
      ['a name that every object has', JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}')],
      ['text in any script', 'ä ☃ 🙂', 'ä ☃ 🙂'],
    ])('%s as the input and the result of both kinds', async (_what, given, expected) => {
      expect(await run({ path: 'work.echo', input: given })).toEqual(expected)
      expect(await run({ type: 'mutation', path: 'work.echoAndWrite', input: given })).toEqual(expected)
    })

    test('a result that must be converted to JSON', async () => {
      expect(await run({ path: 'work.answer' })).toEqual({
        at: '1970-01-01T00:00:00.000Z',
        list: [null, null],
        nested: { deep: {} },
      })
      expect(await run({ type: 'mutation', path: 'work.nothing' })).toBeUndefined()
    })

    test("an input that isn't serializable is the caller's error, and nothing runs", async () => {
      await expect(run({ path: 'work.echo', input: 1n })).rejects.toThrow(TypeError)
      expect(scene.work.runs).toEqual([])
    })
  })

  describe("a function's errors keep their content:", () => {
    test.each<[Failure, unknown]>([
      ['trpc', { code: 'PRECONDITION_FAILED', message: 'Write something first' }],
      ['wrapped', { code: 'BAD_REQUEST', message: 'The title is taken' }],
      ['unknown', { code: 'INTERNAL_SERVER_ERROR', message: 'The internal function failed' }],
      ['nothing', { code: 'INTERNAL_SERVER_ERROR', message: 'The internal function failed' }],
      ['auth', { reason: 'ROLE_REQUIRED', retryAfterSeconds: null }],
      ['limited', { reason: 'RATE_LIMITED', retryAfterSeconds: 42 }],
      ['rejected', { reason: 'SESSION_NOT_FRESH', retryAfterSeconds: null }],
      [
        'endpoint',
        { code: 'INVALID_INPUT', status: 400, message: 'The request is not valid', fields: ['name'] },
      ],
      ['configuration', { configuration: 'There is no database', code: 'CONTEXT_EMPTY' }],
    ])('%s', async (input, expected) => {
      expect(await errorOf(run({ type: 'mutation', path: 'work.fail', input }))).toEqual(expected)
      expect(scene.work.runs).toEqual(['work.fail'])
    })

    test('an unexpected error is reported to onFailure instead', async () => {
      const node = scene.addNode()
      await errorOf(run({ type: 'mutation', path: 'work.fail', input: 'unknown' }, node))
      expect(node.errors).toMatchObject([{ message: 'SELECT password FROM user' }])
      await errorOf(run({ type: 'mutation', path: 'work.fail', input: 'trpc' }, node))
      expect(node.errors).toHaveLength(1)
    })

    test("an input that doesn't parse", async () => {
      expect(await errorOf(save({ input: { title: 1 } }))).toMatchObject({
        code: 'BAD_REQUEST',
        message: expect.stringContaining('title'),
      })
    })

    test.each(['work.stream', 'work.bigint'])("a result that isn't serializable: %s", async (path) => {
      const type = path === 'work.bigint' ? 'mutation' : 'query'
      const failed = { code: 'INTERNAL_SERVER_ERROR', message: 'The internal function failed' }
      const node = scene.addNode()
      expect(await errorOf(run({ type, path }, node))).toEqual(failed)
      expect(node.errors).toMatchObject([{ name: 'TypeError' }])
    })
  })

  describe("a function that doesn't exist:", () => {
    test.each<[RunnerCall['type'], string]>([
      ['query', 'report'],
      ['query', 'report.none'],
      ['query', 'report.save'],
      ['mutation', 'report.list'],
      ['query', 'REPORT.LIST'],
      ['query', 'report.list.'],
      ['query', 'toString'],
      ['query', 'constructor'],
      ['mutation', '__proto__'],
      ['mutation', 'sallyport.findSession'],
      ['query', 'sallyport.consumeLimit'],
      ['query', 'sallyport'],
    ])('a %s %s', async (type, path) => {
      expect(await errorOf(run({ type, path, input: { title: 'One' } }))).toEqual({
        configuration: `The internal ${type} ${path} was not found. Check the router and getAuth of defineInternalFunctions`,
        code: null,
      })
      expect(scene.work.runs).toEqual([])
    })
  })

  describe('the acting user', () => {
    test('is the one that Step 2 returned', async () => {
      const { session, user, identity } = Object(await run({ path: 'work.acting', actor }))
      expect(identity).toEqual({ ...actor, expiresAt: actor.expiresAt.toISOString() })
      expect(session).toMatchObject({ id: ada.sessionId, userId: ada.userId })
      expect(user).toEqual(session.user)
      expect(user).toMatchObject({ id: ada.userId, role: 'user' })
    })

    test('is optional', async () => {
      expect(await run({ path: 'work.acting' })).toEqual({ identity: null, session: null, user: null })
    })

    const { revoke, expireSession, ban } = {
      revoke: (session: TestSession) => scene.auth.revoke(session),
      expireSession: (session: TestSession) => scene.auth.expireSession(session),
      ban: (session: TestSession) => scene.auth.ban(session),
    }
    test.each<[string, (session: TestSession) => Promise<void>, string]>([
      ['has been revoked', revoke, 'SESSION_NOT_FOUND'],
      ['has expired', expireSession, 'SESSION_EXPIRED'],
      ['is banned', ban, 'ACCOUNT_BANNED'],
    ])('whose session %s is rejected on each call: %3$s', async (_what, end, reason) => {
      const session = await scene.auth.signIn()
      const identity = await identityOf(session)
      expect(await run({ path: 'report.list', actor: identity })).toEqual({ by: session.userId })
      await end(session)
      scene.reset()
      const rejected = { reason, retryAfterSeconds: null }
      expect(await errorOf(run({ path: 'report.list', actor: identity }))).toEqual(rejected)
      expect(await errorOf(save({ actor: identity }))).toEqual(rejected)
      expect(await errorOf(save({ actor: identity, idempotencyKey: newKey() }))).toEqual(rejected)
      expect(scene.work.runs).toEqual([])
    })

    test.each<[string, Partial<Identity>, string]>([
      ['key has leaked', { keyId: 'gone' }, 'TOKEN_INVALID'],
      ['issuer is unknown', { issuer: 'https://evil.example' }, 'TOKEN_INVALID'],
      ['session is of another user', { userId: 'eve' }, 'SESSION_NOT_FOUND'],
    ])('whose %s is rejected: %3$s', async (_what, changes, reason) => {
      const rejected = { reason, retryAfterSeconds: null }
      expect(await errorOf(save({ actor: { ...actor, ...changes } }))).toEqual(rejected)
      expect(scene.work.runs).toEqual([])
    })

    test("who can't be checked is neither accepted nor signed out", async () => {
      scene.store.answer = () => Promise.reject(new Error('The database is gone'))
      expect(await errorOf(save({ actor }))).toEqual(UNAVAILABLE)
      expect(scene.work.runs).toEqual([])
    })

    test("who is rejected doesn't get a stored result either", async () => {
      const session = await scene.auth.signIn()
      const call = { actor: await identityOf(session), idempotencyKey: newKey() }
      expect(await save(call)).toMatchObject({ by: session.userId })
      await scene.auth.revoke(session)
      expect(await errorOf(save(call))).toEqual({ reason: 'SESSION_NOT_FOUND', retryAfterSeconds: null })
    })
  })

  describe('with an idempotency key', () => {
    test('a mutation runs once and returns the same result again, on another node too', async () => {
      const other = await scene.openNode()
      const call = { actor, idempotencyKey: newKey() }
      const first = await save(call)
      expect(first).toEqual({ title: 'One', by: ada.userId, id: 1 })
      for (const node of [scene.node, other, scene.addNode()]) expect(await save(call, node)).toEqual(first)
      expect(scene.work.runs).toEqual(['report.save'])
    })

    test.each<Failure>(['trpc', 'unknown', 'limited', 'endpoint'])(
      'and returns the same error again: %s',
      async (input) => {
        const call = { type: 'mutation', path: 'work.fail', input, idempotencyKey: newKey() } as const
        const first = await errorOf(run(call))
        expect(await errorOf(run(call))).toEqual(first)
        expect(await errorOf(run(call, await scene.openNode()))).toEqual(first)
        expect(scene.work.runs).toEqual(['work.fail'])
      },
    )

    test.each(['', 'x'.repeat(201), 'a\u0000', '\ud800'])(
      'that is invalid, nothing runs: %j',
      async (key) => {
        await expect(save({ actor, idempotencyKey: key })).rejects.toThrow(
          'idempotencyKey must be 1 to 200 characters, none of them a control character',
        )
        expect(scene.work.runs).toEqual([])
      },
    )

    test('one of twenty concurrent calls runs', async () => {
      const call = { actor, idempotencyKey: newKey() }
      const results = await Promise.all(Array.from({ length: 20 }, () => save(call)))
      expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
      expect(scene.work.runs).toEqual(['report.save'])
    })

    test("that is running on another node, the call doesn't run, and its outcome is unknown", async () => {
      const other = await scene.openNode()
      holdWork(scene.work)
      const call = { type: 'mutation', path: 'work.waitAndWrite', idempotencyKey: newKey() } as const
      const running = run(call)
      await soon(() => expect(scene.work.runs).toHaveLength(1))
      expect(await errorOf(run(call, other))).toEqual(UNAVAILABLE)
      scene.work.finish()
      expect(await running).toBe('done')
      expect(await run(call, other)).toBe('done')
      expect(scene.work.runs).toHaveLength(1)
    })

    test.each<[string, Partial<RunnerCall>]>([
      ['another input', { input: { title: 'Two' } }],
      ['another function', { path: 'work.nothing', input: undefined }],
    ])('that was used for %s, the call is rejected', async (_what, changes) => {
      const call = { actor, idempotencyKey: newKey() }
      await save(call)
      expect(await errorOf(save({ ...call, ...changes }))).toEqual({
        code: 'CONFLICT',
        message: 'The idempotency key was used for another call. Use a new key',
      })
      expect(scene.work.runs).toEqual(['report.save'])
    })

    test('another user has separate keys', async () => {
      const eve = await scene.auth.signIn()
      const idempotencyKey = newKey()
      expect(await save({ actor, idempotencyKey })).toMatchObject({ by: ada.userId })
      expect(await save({ actor: await identityOf(eve), idempotencyKey })).toMatchObject({ by: eve.userId })
      expect(await save({ idempotencyKey })).toMatchObject({ by: null })
      expect(scene.work.runs).toHaveLength(3)
    })

    test("no auth endpoint is callable, since its response isn't stored", async () => {
      const path = 'sallyport.mutateEndpoint'
      const call = { type: 'mutation', path, input: {}, idempotencyKey: newKey() } as const
      expect(await errorOf(run(call))).toEqual({
        configuration: `${path} takes no idempotency key: its response is never stored. Call it without one`,
        code: null,
      })
    })

    test('and without one, every call runs', async () => {
      await save()
      await save()
      expect(scene.work.runs).toHaveLength(2)
    })
  })

  describe('limits:', () => {
    const runWith = (limits: CallLimits, call: Partial<RunnerCall> & Pick<RunnerCall, 'path'>) =>
      runnerFor(scene.addNode(limits), limits).run({
        type: 'query',
        input: undefined,
        actor: null,
        ...call,
      })

    test('an input that is too large is not sent', async () => {
      const limits = { maxBodyBytes: 100 }
      const tooLarge = {
        code: 'PAYLOAD_TOO_LARGE',
        message: 'The input of the internal function is too large. Send less, or raise maxBodyBytes',
      }
      // The body has another 44 bytes.
      expect(await runWith(limits, { path: 'work.echo', input: 'x'.repeat(52) })).toBe('x'.repeat(52))
      expect(await errorOf(runWith(limits, { path: 'work.echo', input: 'x'.repeat(60) }))).toEqual(tooLarge)
      // The limit is in bytes, not characters.
      expect(await errorOf(runWith(limits, { path: 'work.echo', input: '☃'.repeat(25) }))).toEqual(tooLarge)
      expect(scene.work.runs).toEqual(['work.echo'])
    })

    test('a response that is too large is an error', async () => {
      const node = scene.addNode({ maxResponseBytes: 100 })
      const failed = { code: 'INTERNAL_SERVER_ERROR', message: 'The internal function failed' }
      // The envelope has another 48 bytes.
      expect(await run({ path: 'work.large', input: 52 }, node)).toHaveLength(52)
      expect(await errorOf(run({ path: 'work.large', input: 53 }, node))).toEqual(failed)
      expect(node.errors).toMatchObject([{ name: 'RangeError' }])
    })

    test('a function that takes too long is not awaited', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
      holdWork(scene.work)
      const call = runWith({ timeoutMs: 300 }, { path: 'work.waitAndWrite', type: 'mutation' })
      await until(() => scene.work.signal !== undefined)
      vi.advanceTimersByTime(300)
      expect(await errorOf(call)).toEqual(UNAVAILABLE)
      expect(scene.work.signal?.aborted).toBe(true)
    })

    test('the number of concurrent calls, including abandoned ones', async () => {
      holdWork(scene.work)
      const node = scene.addNode({ maxConcurrent: 2 })
      const runner = name === 'localRunner' ? runnerFor(node, { maxConcurrent: 2 }) : runnerFor(node)
      const begin = (signal?: AbortSignal) =>
        runner.run({ type: 'mutation', path: 'work.waitAndWrite', input: undefined, actor: null, signal })
      const left = new AbortController()
      const calls = [begin(), begin(left.signal).catch(() => 'left')]
      await soon(() => expect(scene.work.runs).toHaveLength(2))
      expect(await errorOf(begin())).toEqual(UNAVAILABLE)
      left.abort()
      expect(await calls[1]).toBe('left')
      expect(await errorOf(begin())).toEqual(UNAVAILABLE)
      scene.work.finish()
      await Promise.all(calls)
      expect(scene.work.runs).toHaveLength(2)
      expect(await begin()).toBe('done')
    })

    test.each<[keyof CallLimits, number]>([
      ['timeoutMs', 0],
      ['timeoutMs', 2 ** 31],
      ['maxConcurrent', 0],
      ['maxBodyBytes', -1],
      ['maxResponseBytes', 1.5],
    ])('reject an invalid %s of %d', (limit, value) => {
      expect(() => runnerFor(scene.node, { [limit]: value })).toThrow(
        `${limit} must be a positive whole number`,
      )
    })
  })

  describe('a caller who leaves', () => {
    test("stops waiting, and the abandoned function's signal aborts", async () => {
      holdWork(scene.work)
      const left = new AbortController()
      const call = run({ type: 'mutation', path: 'work.waitAndWrite', signal: left.signal })
      await soon(() => expect(scene.work.runs).toHaveLength(1))
      left.abort()
      expect(await errorOf(call)).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' })
      await soon(() => expect(scene.work.signal?.aborted).toBe(true))
    })

    test('because their session ended gets the reason', async () => {
      holdWork(scene.work)
      const left = new AbortController()
      const call = run({ path: 'work.wait', signal: left.signal })
      await soon(() => expect(scene.work.runs).toHaveLength(1))
      const ended = new TRPCError({ code: 'UNAUTHORIZED', message: 'The session has ended' })
      left.abort(ended)
      await expect(call).rejects.toBe(ended)
    })

    test.each([
      ['without an idempotency key', {}],
      ['with one', { idempotencyKey: newKey() }],
    ])('before the call starts runs nothing, %s', async (_what, key) => {
      const signal = AbortSignal.abort()
      const call = run({ type: 'mutation', path: 'work.nothing', signal, ...key })
      expect(await errorOf(call)).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' })
      // Everything in flight has finished.
      await save()
      expect(scene.work.runs).toEqual(['report.save'])
    })

    test('before Step 2 has completed keeps the function from running', async () => {
      const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
      const asked = Promise.withResolvers<void>()
      scene.store.answer = async (find) => {
        asked.resolve()
        await answered
        return find()
      }
      const left = new AbortController()
      const call = save({ actor, signal: left.signal })
      await asked.promise
      left.abort()
      expect(await errorOf(call)).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' })
      answer()
      // Everything in flight has finished.
      scene.store.answer = null
      await save({ actor })
      expect(scene.work.runs).toEqual(['report.save'])
    })

    test("doesn't abort a function with an idempotency key, whose result is requested later", async () => {
      holdWork(scene.work)
      const left = new AbortController()
      const call = { type: 'mutation', path: 'work.waitAndWrite', idempotencyKey: newKey() } as const
      const first = run({ ...call, signal: left.signal })
      await soon(() => expect(scene.work.runs).toHaveLength(1))
      left.abort()
      expect(await errorOf(first)).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' })
      expect(scene.work.signal).toBeUndefined()
      const second = run(call)
      scene.work.finish()
      expect(await second).toBe('done')
      expect(scene.work.runs).toHaveLength(1)
    })
  })
})
