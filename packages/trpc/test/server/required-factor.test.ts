import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import {
  authErrorData,
  createAuthContext,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
} from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'

const MAX_AGE = 60

const auth = await createTestAuth()
afterAll(() => auth.close())

const t = initTRPC.context<DatabaseContext>().create()
const sensitive = (options: Parameters<typeof createSensitiveSessionMiddleware>[0]) =>
  t.procedure.use(createSensitiveSessionMiddleware(options)).mutation(() => 'done')

const router = t.router({
  anySecond: sensitive({ factor: 'any-second', maxAge: MAX_AGE }),
  totp: sensitive({ factor: 'totp', maxAge: MAX_AGE }),
  passkey: sensitive({ factor: 'passkey', maxAge: MAX_AGE }),
  everOnce: sensitive({ factor: 'any-second', maxAge: Number.POSITIVE_INFINITY }),
  // @ts-expect-error not a factor
  mistyped: sensitive({ factor: () => 'sms' }),
})

type Procedure = keyof typeof router._def.procedures

let session: TestSession
beforeEach(async () => {
  session = await auth.signIn()
})

const store = (amr: string | null) =>
  auth.db.updateTable('session').set({ amr }).where('id', '=', session.sessionId).execute()

/** Stores when the user proved each method, in seconds ago. */
function proved(methods: Readonly<Record<string, number>>): Promise<unknown> {
  const now = Math.floor(auth.clock.now().getTime() / 1000)
  return store(
    JSON.stringify(Object.fromEntries(Object.entries(methods).map(([name, ago]) => [name, now - ago]))),
  )
}

/** Returns what the procedure returns, or the error data of its rejection. */
async function call(procedure: Procedure): Promise<unknown> {
  const context = {
    ...createAuthContext(auth.config).headers({ cookie: session.cookie, 'x-sallyport': '1' }),
    db: auth.db,
  }
  try {
    return await router.createCaller(context)[procedure]()
  } catch (error) {
    if (!(error instanceof TRPCError)) throw error
    return authErrorData({ error, path: procedure })
  }
}

const FACTOR_REQUIRED = { reason: 'FACTOR_REQUIRED' }
const NOT_FRESH = { reason: 'SESSION_NOT_FRESH' }

describe('a required factor', () => {
  test.each<[Procedure, Record<string, number>, unknown]>([
    ['anySecond', { pwd: 0 }, FACTOR_REQUIRED],
    ['anySecond', { pwd: 0, otp: 0 }, 'done'],
    ['anySecond', { pwd: 0, passkey: 0 }, 'done'],
    ['anySecond', { pwd: 0, recovery: 0 }, 'done'],
    ['anySecond', { oauth: 0, email: 0 }, FACTOR_REQUIRED],
    ['anySecond', { pwd: 0, otp: MAX_AGE }, 'done'],
    ['anySecond', { pwd: 0, otp: MAX_AGE + 1 }, NOT_FRESH],
    ['anySecond', { otp: MAX_AGE + 1, passkey: 0 }, 'done'],
    ['totp', { otp: 0 }, 'done'],
    ['totp', { passkey: 0, recovery: 0 }, FACTOR_REQUIRED],
    ['totp', { otp: MAX_AGE + 1, passkey: 0 }, NOT_FRESH],
    ['passkey', { passkey: 0 }, 'done'],
    ['passkey', { pwd: 0, otp: 0 }, FACTOR_REQUIRED],
    ['everOnce', { otp: 1_000_000 }, 'done'],
    ['everOnce', { pwd: 0 }, FACTOR_REQUIRED],
  ])('%s, proved %o seconds ago', async (procedure, methods, expected) => {
    await proved(methods)
    const result = await call(procedure)
    if (typeof expected === 'string') expect(result).toBe(expected)
    else expect(result).toMatchObject(expected as object)
  })

  test.each([
    ['nothing', null],
    ['an empty text', ''],
    ['other JSON', '["otp"]'],
    ['a text instead of a time', '{"otp":"now"}'],
    ['broken JSON', '{"otp":'],
  ])('is missing in a session that has %s', async (_name, amr) => {
    await store(amr)
    expect(await call('totp')).toMatchObject(FACTOR_REQUIRED)
  })

  test('is named in the rejection, with its maximum age, before the resolver runs', async () => {
    expect(await call('totp')).toEqual({
      reason: 'FACTOR_REQUIRED',
      retryAfterSeconds: null,
      replay: true,
      required: { factor: 'totp', maxAgeSeconds: MAX_AGE },
    })
    expect(await call('everOnce')).toMatchObject({ required: { factor: 'any-second', maxAgeSeconds: null } })
  })

  test('must be one that exists', () => {
    // @ts-expect-error not a factor
    expect(() => createSensitiveSessionMiddleware({ factor: 'sms' })).toThrow(
      expect.objectContaining({ name: 'ConfigurationError' }),
    )
  })

  test('must be one that exists for each session, else the procedure stays closed', async () => {
    await proved({ pwd: 0, otp: 0, passkey: 0 })
    const headers = { cookie: session.cookie, 'x-sallyport': '1' }
    const context = { ...createAuthContext(auth.config).headers(headers), db: auth.db }
    await expect(router.createCaller(context).mistyped()).rejects.toMatchObject({
      code: 'INTERNAL_SERVER_ERROR',
      cause: { name: 'ConfigurationError' },
    })
  })
})
