import { rejections } from '@sallyport/core/auth'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { authErrorData, authErrorMiddleware } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { afterAll, describe, expect, test } from 'vitest'
import * as z from 'zod'

const limits = { account: { points: 1, duration: 60 } }
const auth = await createTestAuth({ emailPassword: { limits } })
afterAll(() => auth.close())
const ada = await auth.createUser()

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
    respond: procedure.input(z.number()).mutation(({ input: status }) => {
      throw rejections({ ITS_CODE: { status, message: 'Its message' } })('ITS_CODE')
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
      message: 'Email or password is wrong. Check both and try again.',
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
    ['an invalid input is 400', () => caller.signIn({ email: 'x', password: 'y' }), 'BAD_REQUEST'],
    ['an unknown user is 404', () => caller.begin('nobody'), 'NOT_FOUND'],
    ['a missing configuration is 501', () => caller.reset(), 'NOT_IMPLEMENTED'],
    ['any other error stays 500', () => caller.fail(), 'INTERNAL_SERVER_ERROR'],
    ["the app's own rejection stays as it is", () => caller.reject(), 'CONFLICT'],
  ])('%s', async (_name, call, code) => {
    expect(await errorOf(call())).toMatchObject({ code })
  })
})

test.each([
  [400, 'BAD_REQUEST'],
  [405, 'METHOD_NOT_SUPPORTED'],
  [412, 'PRECONDITION_FAILED'],
  [413, 'PAYLOAD_TOO_LARGE'],
  [415, 'UNSUPPORTED_MEDIA_TYPE'],
  [503, 'SERVICE_UNAVAILABLE'],
  [418, 'INTERNAL_SERVER_ERROR'],
])("an endpoint's error with the status %d is %s", async (status, code) => {
  expect(await errorOf(caller.respond(status))).toMatchObject({ code, message: 'Its message' })
})

test('an error of auth.api keeps its status without a context', async () => {
  const open = procedure.query(() => auth.api.getSession({ request: new Request(request.url) }))
  const req = new Request(`${request.url}/open`)
  const router = t.router({ open })
  expect((await fetchRequestHandler({ endpoint: '/trpc', req, router })).status).toBe(401)
})

test('a successful result is unchanged', async () => {
  const { email, userId } = await auth.createUser()
  expect(await caller.signIn({ email, password: TEST_PASSWORD })).toBe(userId)
})
