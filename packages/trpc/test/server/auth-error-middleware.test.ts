import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { authErrorData, authErrorMiddleware } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'

const limits = { account: { points: 1, duration: 60 } }
const auth = await createTestAuth({ emailPassword: { limits } })
afterAll(() => auth.close())
let ada: { userId: string; email: string }
beforeAll(async () => {
  ada = await auth.createUser()
})

const request = new Request('http://localhost:3000/trpc', { method: 'POST', headers: { 'x-sallyport': '1' } })
const t = initTRPC.create()
const procedure = t.procedure.use(authErrorMiddleware)
const caller = t
  .router({
    signIn: procedure
      .input(z.object({ email: z.string(), password: z.string() }))
      .mutation(async ({ input }) => (await auth.api.signInEmail({ ...input, request })).userId),
    begin: procedure
      .input(z.string())
      .mutation(async ({ input }) => (await auth.api.createSession({ userId: input, request })).userId),
    reset: procedure.mutation(() => auth.api.requestPasswordReset({ email: 'a@example.com', request })),
    fail: procedure.mutation(() => {
      throw new TypeError('a fault of the app')
    }),
    reject: procedure.mutation(() => {
      throw new TRPCError({ code: 'CONFLICT', message: 'its own' })
    }),
  })
  .createCaller({})

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => error,
  )

describe('a rejection by auth.api keeps its code and its message', () => {
  test('a wrong password is 401, and one too many is 429 with the seconds to wait', async () => {
    const wrong = { email: ada.email, password: 'another password' }
    expect(await errorOf(caller.signIn(wrong))).toMatchObject({
      code: 'UNAUTHORIZED',
      message: 'Email or password is wrong',
      cause: { code: 'INVALID_CREDENTIALS' },
    })
    const error = await errorOf(caller.signIn(wrong))
    expect(error).toMatchObject({ code: 'TOO_MANY_REQUESTS', cause: { reason: 'RATE_LIMITED' } })
    if (!(error instanceof TRPCError)) throw new TypeError('A TRPCError was expected')
    expect(authErrorData({ error, path: 'signIn' })).toMatchObject({
      reason: 'RATE_LIMITED',
      retryAfterSeconds: expect.any(Number),
      // The resolver has run.
      replay: false,
    })
  })

  test.each([
    ['an input that does not fit is 400', () => caller.signIn({ email: 'x', password: 'y' }), 'BAD_REQUEST'],
    ['a user who is not there is 404', () => caller.begin('nobody'), 'NOT_FOUND'],
    ['what is not set up is 501', () => caller.reset(), 'NOT_IMPLEMENTED'],
    ['any other fault stays 500', () => caller.fail(), 'INTERNAL_SERVER_ERROR'],
    ['and a rejection of the app its own', () => caller.reject(), 'CONFLICT'],
  ])('%s', async (_name, call, code) => {
    expect(await errorOf(call())).toMatchObject({ code })
  })
})

test('what succeeds is left as it is', async () => {
  const { email, userId } = await auth.createUser()
  expect(await caller.signIn({ email, password: TEST_PASSWORD })).toBe(userId)
})
