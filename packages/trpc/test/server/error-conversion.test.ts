import { AuthError, ConfigurationError, defineAuthConfig, staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { EndpointError } from '@sallyport/core/internal/server'
import {
  type AuthContext,
  authErrorData,
  authErrorMiddleware,
  createAuthContext,
  endpointErrorData,
} from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { describe, expect, test, vi } from 'vitest'
import { authResponseMeta, reportError, toTRPCError, withStatus } from '../../src/server/errors.ts'

const { publicJwks } = parseSigningKeys({ keys: [await createSigningKey()] })
const fault = new TypeError('a fault of the app')
const taken = new EndpointError(
  { code: 'EMAIL_TAKEN', status: 409, message: 'This email is taken' },
  { fields: ['email'] },
)

function openConfig() {
  const onFailure = vi.fn()
  const config = defineAuthConfig({
    baseUrl: 'http://localhost:3000',
    jwks: staticJwks(publicJwks),
    onFailure,
  })
  return { config, onFailure }
}

test.each([
  ['a rejection', new AuthError('ROLE_REQUIRED'), 'FORBIDDEN', 'ROLE_REQUIRED'],
  ['an unknown error', fault, 'SERVICE_UNAVAILABLE', 'SESSIONS_UNAVAILABLE'],
  ['an error of tRPC', new TRPCError({ code: 'CONFLICT' }), 'SERVICE_UNAVAILABLE', 'SESSIONS_UNAVAILABLE'],
])('%s becomes an error with its code and reason', (_name, error, code, reason) => {
  const converted = toTRPCError(error)
  expect(converted).toMatchObject({ code, cause: { reason } })
  expect(authErrorData({ error: converted, path: 'me' })).toMatchObject({ reason, replay: false })
})

test.each([
  [{}, {}],
  [{ required: { factor: 'totp', maxAgeSeconds: 60 } }, { required: { factor: 'totp', maxAgeSeconds: 60 } }],
] as const)('the data of a rejection with %o has %o', (options, expected) => {
  const error = toTRPCError(new AuthError('FACTOR_REQUIRED', options))
  const common = { reason: 'FACTOR_REQUIRED', retryAfterSeconds: null, replay: false }
  expect(authErrorData({ error, path: 'me' })).toStrictEqual({ ...common, ...expected })
})

test('an invalid configuration is 500, and its message stays on the server', () => {
  const cause = new ConfigurationError('JWKS is not set')
  const error = toTRPCError(cause)
  expect(error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', message: 'Something went wrong', cause })
  expect(authErrorData({ error, path: 'me' })).toBeNull()
})

describe('a call may be replayed only if the guard of its own path rejected it', () => {
  const replay = (error: TRPCError, path: string | undefined) => authErrorData({ error, path })?.replay
  const rejection = () => new AuthError('TOKEN_EXPIRED')

  test('and an error without a guard belongs to no path', () => {
    const guarded = toTRPCError(rejection(), { path: 'me' })
    expect([replay(guarded, 'me'), replay(guarded, 'other'), replay(guarded, undefined)]).toEqual([
      true,
      false,
      false,
    ])
    const inResolver = toTRPCError(rejection())
    expect([replay(inResolver, 'me'), replay(inResolver, undefined)]).toEqual([false, false])
  })

  test('an error that was converted before stays the same, and keeps its path', () => {
    const guarded = toTRPCError(rejection(), { path: 'me' })
    expect(toTRPCError(guarded)).toBe(guarded)
    expect(replay(guarded, 'me')).toBe(true)
    expect(toTRPCError(guarded, { path: 'outer' })).toBe(guarded)
    expect([replay(guarded, 'me'), replay(guarded, 'outer')]).toEqual([false, true])
  })

  test('an error that another library made was never guarded', () => {
    const error = new TRPCError({ code: 'UNAUTHORIZED', cause: rejection() })
    expect([replay(error, 'me'), replay(error, undefined)]).toEqual([false, false])
  })
})

describe('the failure of a call is reported', () => {
  test('once, with its path and step, although it passes several guards', () => {
    const { config, onFailure } = openConfig()
    const error = toTRPCError(fault)
    expect(reportError(error, { path: 'me', step: 'step2' }, config)).toBe(error)
    reportError(error, { path: 'outer', step: 'procedure' }, config)
    const failure = { path: 'me', step: 'step2', reason: 'SESSIONS_UNAVAILABLE', cause: fault }
    expect(onFailure.mock.calls).toEqual([[expect.objectContaining(failure)]])
  })

  test('with its own error if it has no cause', () => {
    const { config, onFailure } = openConfig()
    const error = new TRPCError({ code: 'INTERNAL_SERVER_ERROR', message: 'broken' })
    reportError(error, { step: 'procedure' }, config)
    expect(onFailure.mock.calls).toEqual([[expect.objectContaining({ path: null, step: 'procedure' })]])
  })
})

test.each([
  [400, 'BAD_REQUEST'],
  [401, 'UNAUTHORIZED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [409, 'CONFLICT'],
  [422, 'UNPROCESSABLE_CONTENT'],
  [429, 'TOO_MANY_REQUESTS'],
  [501, 'NOT_IMPLEMENTED'],
  [418, 'INTERNAL_SERVER_ERROR'],
])('the status %i of an endpoint is %s', (status, code) => {
  expect(withStatus(status, fault)).toMatchObject({ code, message: fault.message, cause: fault })
})

test("an endpoint's error has its code and fields, and any other error has none", () => {
  expect(endpointErrorData({ error: withStatus(409, taken) })).toEqual({
    code: 'EMAIL_TAKEN',
    fields: ['email'],
  })
  expect(endpointErrorData({ error: toTRPCError(fault) })).toBeNull()
})

describe('the middleware for errors of auth.api', () => {
  const t = initTRPC.context<{ auth?: unknown }>().create()
  const fail = (error: unknown) =>
    t.router({
      run: t.procedure.use(authErrorMiddleware).query(() => {
        throw error
      }),
    })
  const errorOf = (error: unknown, ctx: { auth?: unknown } = {}) =>
    fail(error)
      .createCaller(ctx)
      .run()
      .catch((cause: unknown) => cause)

  test.each([
    ['a rejection', new AuthError('RATE_LIMITED'), 'TOO_MANY_REQUESTS'],
    ['the error of an endpoint', taken, 'CONFLICT'],
    ['an error of the app', new TRPCError({ code: 'NOT_FOUND' }), 'NOT_FOUND'],
    [
      'a rejection with its own code',
      new TRPCError({ code: 'CONFLICT', cause: new AuthError('RATE_LIMITED') }),
      'CONFLICT',
    ],
    ['a fault of the app', fault, 'INTERNAL_SERVER_ERROR'],
  ])('%s has the code of its status', async (_name, error, code) => {
    for (const ctx of [{}, { auth: null }, { auth: 'x' }, { auth: {} }])
      expect(await errorOf(error, ctx)).toMatchObject({ code })
  })
})

test('the middleware for errors of auth.api reports a failure with its path', async () => {
  const { config, onFailure } = openConfig()
  const t = initTRPC.context<AuthContext>().create()
  const failing = t.procedure.use(authErrorMiddleware).query(() => {
    throw new AuthError('SESSIONS_UNAVAILABLE', { cause: fault })
  })
  const call = t.router({ failing }).createCaller(createAuthContext(config).headers({})).failing()
  await expect(call).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(onFailure).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ path: 'failing', step: 'procedure' }),
  )
})

describe('the headers of a response', () => {
  const unavailable = (seconds: number) =>
    toTRPCError(new AuthError('SESSIONS_UNAVAILABLE', { retryAfterSeconds: seconds }))
  const limited = toTRPCError(new AuthError('RATE_LIMITED', { retryAfterSeconds: 9 }))
  const headersOf = (errors: TRPCError[], data: unknown[] = errors) =>
    Object.fromEntries(authResponseMeta({ data, errors }).headers ?? [])
  const common = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

  test.each([
    ['no calls', [], [], {}],
    ['one call that must wait', [unavailable(3)], undefined, { 'retry-after': '3' }],
    [
      'the longest wait of several',
      [unavailable(3), unavailable(7), unavailable(1)],
      undefined,
      { 'retry-after': '7' },
    ],
    ['different errors', [unavailable(3), limited], undefined, {}],
    ['an error among results', [unavailable(3)], [1, 2], {}],
    ['an error without a wait', [toTRPCError(new AuthError('ROLE_REQUIRED'))], undefined, {}],
    ['an error of the app', [new TRPCError({ code: 'NOT_FOUND' })], undefined, {}],
  ] as const)('%s', (_name, errors, data, expected) => {
    expect(headersOf([...errors], data && [...data])).toEqual({ ...common, ...expected })
  })
})
