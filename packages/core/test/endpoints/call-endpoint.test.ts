import { type AuthEvent, type AuthFailure, ConfigurationError } from '@sallyport/core'
import { defineEndpoint, type EndpointContext } from '@sallyport/core/auth'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { callEndpoint } from '../../src/endpoints/call-endpoint.ts'
import type { EndpointServer } from '../../src/endpoints/create-context.ts'
import type { Caller, Endpoint } from '../../src/endpoints/endpoint.ts'
import { codeOf } from '../support/code-of.ts'
import { dumpTables } from '../support/dump-tables.ts'
import { eventually } from '../support/eventually.ts'
import { incoming } from '../support/incoming.ts'

const events: AuthEvent[] = []
const onEvent = (event: AuthEvent) => void events.push(event)
const onFailure = vi.fn<(failure: AuthFailure) => void>()
const auth = await createTestAuth({ onEvent, onFailure })
afterAll(() => auth.close())

const server: EndpointServer = {
  definition: auth.definition,
  database: auth.database,
  trustsProxy: () => false,
}
let ada: TestSession
let root: TestSession
beforeEach(async () => {
  ada = await auth.signIn()
  root = await auth.signIn({ role: 'admin' })
  events.length = 0
  onFailure.mockClear()
})

const OWN = { 'x-sallyport': '1' }
const requestBy = (cookie = '', headers: Record<string, string> = OWN) => ({
  ...incoming({ ...headers, ...(cookie !== '' && { cookie }) }, 'POST'),
  address: null,
})
const call = (endpoint: Endpoint, cookie?: string, input: unknown = {}) =>
  callEndpoint(endpoint, requestBy(cookie), () => input, server)

const common = { method: 'POST', path: '/x', output: z.object({}) } as const
/** Returns an endpoint that exposes its context. */
function withContext(
  work: (context: EndpointContext) => Promise<unknown> = async () => {},
  origin?: Endpoint['origin'],
): Endpoint {
  return defineEndpoint({
    ...common,
    caller: 'anyone',
    input: z.object({}),
    ...(origin !== undefined && { origin }),
    async run(_input, context) {
      await work(context)
      return { body: {} }
    },
  })
}
const forCaller = (caller: Exclude<Caller, 'anyone'>): Endpoint =>
  defineEndpoint({
    ...common,
    caller,
    input: z.strictObject({ a: z.string() }),
    run: async () => ({ body: {} }),
  })

const definePath = (path: `/${string}`): Endpoint =>
  defineEndpoint({
    ...common,
    path,
    caller: 'user',
    input: z.object({}),
    run: async () => ({ body: {} }),
  })

describe('the order of checks', () => {
  const evil = { origin: 'https://evil.example' }
  const twoCookies = 'service.session=a.b; service.session=c.d'
  const malformed = () => {
    throw new Error('malformed')
  }

  test.each([
    ['the origin, before the cookies', 'ORIGIN_REJECTED', twoCookies, evil, malformed],
    ['the session cookie, before the input is read', 'COOKIE_CONFLICT', twoCookies, OWN, malformed],
    ['the caller, before the fields of the input', 'TOKEN_MISSING', '', OWN, () => ({ b: 1 })],
  ])('%s: %s', async (_name, code, cookie, headers, readInput) => {
    const read = vi.fn(readInput)
    const called = callEndpoint(forCaller('user'), requestBy(cookie, headers), read, server)
    expect(await codeOf(called)).toBe(code)
    expect(read).toHaveBeenCalledTimes(code === 'TOKEN_MISSING' ? 1 : 0)
  })

  test('rejects an unreadable input before it queries the database', async () => {
    auth.lookups.reset()
    await expect(callEndpoint(forCaller('user'), requestBy(ada.cookie), malformed, server)).rejects.toThrow(
      'malformed',
    )
    expect(auth.lookups.count).toBe(0)
  })

  test('each call reads the session once', async () => {
    auth.lookups.reset()
    await call(forCaller('user'), ada.cookie, { a: '' })
    expect(auth.lookups.count).toBe(1)
    await call(withContext(), ada.cookie)
    expect(auth.lookups.count).toBe(1)
  })
})

describe('authorization', () => {
  const stale = async (session: TestSession) => {
    await auth.db
      .updateTable('session')
      .set({ lastAuthenticatedAt: new Date(auth.clock.now().getTime() - 15 * 60_000 - 1) })
      .where('id', '=', session.sessionId)
      .execute()
    return session.cookie
  }

  test.each<[Exclude<Caller, 'anyone'>, string, () => Promise<string>, string]>([
    ['user', 'missing', async () => '', 'TOKEN_MISSING'],
    ['user', 'a user', async () => ada.cookie, 'INVALID_INPUT'],
    ['user', 'a user who signed in long ago', () => stale(ada), 'INVALID_INPUT'],
    ['user', 'an admin', async () => root.cookie, 'INVALID_INPUT'],
    ['fresh-user', 'missing', async () => '', 'TOKEN_MISSING'],
    ['fresh-user', 'a user', async () => ada.cookie, 'INVALID_INPUT'],
    ['fresh-user', 'a user who signed in long ago', () => stale(ada), 'SESSION_NOT_FRESH'],
    ['fresh-user', 'an admin who signed in long ago', () => stale(root), 'SESSION_NOT_FRESH'],
    ['admin', 'missing', async () => '', 'TOKEN_MISSING'],
    ['admin', 'a user', async () => ada.cookie, 'ROLE_REQUIRED'],
    ['admin', 'an admin', async () => root.cookie, 'INVALID_INPUT'],
    ['admin', 'an admin who signed in long ago', () => stale(root), 'INVALID_INPUT'],
  ])('an endpoint for %s, called by %s', async (caller, _who, cookie, code) => {
    expect(await codeOf(call(forCaller(caller), await cookie(), { b: 1 }))).toBe(code)
  })

  test('reports rejections to the app, with a hash of the session', async () => {
    await codeOf(call(forCaller('admin'), ada.cookie))
    await codeOf(call(forCaller('fresh-user'), await stale(ada)))
    await eventually(() => expect(events).toHaveLength(2))
    // Each is reported once the hash of its session is ready.
    expect(events).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'decision.denied', step: 2, reason: 'ROLE_REQUIRED' }),
        expect.objectContaining({ type: 'decision.denied', step: 2, reason: 'SESSION_NOT_FRESH' }),
      ]),
    )
    expect(JSON.stringify(events)).not.toContain(ada.sessionId)
  })

  test.each(['"admins"', '"fresh_admin"', '"Admin"', '""', 'null'])(
    'a typo in the caller, %s, opens no endpoint',
    (caller) => {
      expect(() => forCaller(JSON.parse(caller))).toThrow(ConfigurationError)
      expect(() => forCaller(JSON.parse(caller))).toThrow('is unknown')
    },
  )

  test.each(['/', '/x', '/x/:id', '/X_y.z~/%20'] as const)('the path %j can be requested', (path) => {
    expect(definePath(path).path).toBe(path)
  })

  test.each(['//x', '/a b', '/a?b', '/a#b', '/grüße', '/a/../b', JSON.parse('"x"')])(
    'the path %j is rejected, because no request has it',
    (path) => {
      expect(() => definePath(path)).toThrow(ConfigurationError)
      expect(() => definePath(path)).toThrow('no request has this path')
    },
  )

  test.each(['user', 'admin'] as const)('a factor is for fresh callers, not for a caller %s', (caller) => {
    const run = async () => ({ body: {} })
    const define = (factor: 'totp') => defineEndpoint({ ...common, caller, factor, input: z.object({}), run })
    expect(() => define('totp')).toThrow('factor needs the caller fresh-user or fresh-admin')
    expect(() => define(JSON.parse('"sms"'))).toThrow('factor: sms is unknown')
  })

  test('an endpoint receives its caller', async () => {
    const run = vi.fn(async () => ({ body: {} }))
    await call(defineEndpoint({ ...common, caller: 'user', input: z.object({}), run }), ada.cookie)
    expect(run).toHaveBeenCalledWith(
      {},
      expect.objectContaining({
        identity: expect.objectContaining({ userId: ada.userId, sessionId: ada.sessionId }),
        session: expect.objectContaining({
          id: ada.sessionId,
          user: expect.objectContaining({ role: 'user' }),
        }),
      }),
    )
  })
})

describe('the session cookie', () => {
  const cookieOf = async (cookie: string, origin?: Endpoint['origin']) => {
    let sessionCookie: unknown
    const endpoint = withContext(async (context) => {
      sessionCookie = context.sessionCookie
    }, origin)
    await call(endpoint, cookie)
    return sessionCookie
  }

  test("is passed on even if its session isn't valid", async () => {
    expect(await cookieOf('service.session=a.b')).toEqual({ sessionId: 'a', secret: 'b' })
    expect(await cookieOf('')).toBeNull()
  })

  test('is null, and may be sent twice, if the response is the same for everyone', async () => {
    expect(await cookieOf(ada.cookie, null)).toBeNull()
    expect(await cookieOf('service.session=a.b; service.session=c.d', null)).toBeNull()
  })
})

describe('a change', () => {
  const rename = (userId: string, fail = false) =>
    withContext(({ change, config }) =>
      change(async (trx, record) => {
        await trx.updateTable('user').set({ name: 'Eve' }).where('id', '=', userId).execute()
        record({ type: 'user.unbanned', userId, actorId: null, at: config.now(), from: null })
        if (fail) throw new Error('no')
      }),
    )

  test('is committed with its record, and then reported', async () => {
    await call(rename(ada.userId))
    const { sallyport_audit: audit = [], user = [] } = await dumpTables(auth)
    expect(user).toContainEqual(expect.objectContaining({ id: ada.userId, name: 'Eve' }))
    expect(audit.at(-1)).toMatchObject({ type: 'user.unbanned', userId: ada.userId })
    expect(events).toMatchObject([{ type: 'user.unbanned' }])
  })

  test('that throws is not committed, recorded, or reported', async () => {
    const before = await dumpTables(auth)
    await expect(call(rename(ada.userId, true))).rejects.toThrow('no')
    expect(await dumpTables(auth)).toEqual(before)
    expect(events).toEqual([])
  })
})

describe('a limit', () => {
  const limited = (key: string) => withContext(({ limit }) => limit(key, { points: 2, duration: 60 }))

  test('allows the configured number, and then responds with the time to wait', async () => {
    const endpoint = limited(crypto.randomUUID())
    await call(endpoint)
    await call(endpoint)
    await expect(call(endpoint)).rejects.toSatisfy(
      ({ reason, retryAfterSeconds: seconds }) => reason === 'RATE_LIMITED' && seconds > 30 && seconds <= 60,
    )
    await call(limited(crypto.randomUUID()))
  })

  test.each([
    { points: Number.NaN, duration: 60 },
    { points: 0, duration: 60 },
    { points: 5, duration: Number.NaN },
  ])('of %j is a mistake, and allows nothing', async (limit) => {
    const endpoint = withContext((context) => context.limit('mine:x', limit))
    await expect(call(endpoint)).rejects.toThrow(ConfigurationError)
  })
})

describe('deferred work', () => {
  test("starts after the response, which doesn't wait for it", async () => {
    const work = vi.fn(() => new Promise<void>(() => {}))
    await call(withContext(async ({ later }) => later(work)))
    expect(work).not.toHaveBeenCalled()
    await eventually(() => expect(work).toHaveBeenCalledOnce())
    expect(onFailure).not.toHaveBeenCalled()
  })

  test.each([
    ['rejects', () => Promise.reject(new Error('mailbox full'))],
    [
      'throws synchronously',
      () => {
        throw new Error('mailbox full')
      },
    ],
    // With an error code of a database.
    ['times out', () => Promise.reject(Object.assign(new Error('mailbox full'), { code: 'ETIMEDOUT' }))],
  ])('is only reported if it %s', async (name, work) => {
    const endpoint = { ...withContext(async ({ later }) => later(work)), path: `/${name}` } as const
    expect(await call(endpoint)).toEqual({ body: {} })
    const failure = {
      code: 'AFTER_RESPONSE_FAILED',
      step: 'background',
      cause: expect.objectContaining({ message: 'mailbox full' }),
    }
    await eventually(() =>
      expect(onFailure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(failure)),
    )
  })
})
