import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import {
  authErrorData,
  createAuthContext,
  type DatabaseContext,
  requireRole,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type * as Package from '../../src/server.ts'
import { soon } from '../support/soon.ts'

let auth: TestAuth
let other: typeof Package
let admin: TestSession
beforeAll(async () => {
  auth = await createTestAuth({ onFailure() {} })
  vi.resetModules()
  other = await import('../../src/server.ts')
  expect(other.requireRole).not.toBe(requireRole)
})
beforeEach(async () => {
  admin = await auth.signIn({ role: 'admin' })
})
afterAll(() => auth.close())

const t = initTRPC.context<DatabaseContext>().create()
const protectedProcedure = t.procedure.use(sessionMiddleware)

function context(headers: Record<string, string> = {}): DatabaseContext {
  return {
    ...createAuthContext(auth.config).headers(new Headers({ ...headers, 'x-sallyport': '1' })),
    db: auth.db,
  }
}

async function demote(): Promise<void> {
  await auth.db.updateTable('user').set({ role: 'user' }).where('id', '=', admin.userId).execute()
  auth.database.revocations.publish({ sessionId: null, userId: admin.userId })
}

/** Reads a stream until it ends, and returns why. */
async function endOf(stream: AsyncIterable<unknown>): Promise<string> {
  try {
    for await (const _value of stream);
    return 'completed'
  } catch (error) {
    return error instanceof TRPCError ? error.message : String(error)
  }
}

async function* untilAborted(signal: AbortSignal) {
  yield 'ready'
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

describe('a stream whose resolver has called a procedure for admins', () => {
  const called = vi.fn<() => void>()
  const adminOnly = t.router({
    guarded: protectedProcedure.use(requireRole('admin')).query(() => called()),
  })
  const router = t.router({
    clock: protectedProcedure.subscription(async function* ({ ctx }) {
      await t.createCallerFactory(adminOnly)(ctx).guarded()
      yield* untilAborted(ctx.auth.signal)
    }),
  })

  test('continues when the user loses that role, and ends with the session', async () => {
    const caller = t.createCallerFactory(router)(context({ cookie: admin.cookie }))
    const ended = vi.fn<(reason: string) => void>()
    void endOf(await caller.clock()).then(ended)
    await soon(() => expect(called).toHaveBeenCalledOnce())
    await demote()
    await expect(
      t
        .createCallerFactory(adminOnly)(context({ cookie: admin.cookie }))
        .guarded(),
    ).rejects.toThrow(expect.objectContaining({ code: 'FORBIDDEN' }))
    expect(ended).not.toHaveBeenCalled()
    await auth.db.deleteFrom('session').where('id', '=', admin.sessionId).execute()
    auth.database.revocations.publish(admin)
    await soon(() => expect(ended).toHaveBeenCalledOnce())
  })
})

describe('a resolver that calls a procedure with a streamed query', () => {
  const inner = t.router({
    chat: protectedProcedure.query(({ ctx }) => untilAborted(ctx.auth.signal)),
    adminChat: protectedProcedure
      .use(sensitiveSessionMiddleware)
      .query(({ ctx }) => untilAborted(ctx.auth.signal)),
  })
  type Path = 'chat' | 'adminChat'

  async function firstOf(path: Path, ctx: DatabaseContext, signal?: AbortSignal) {
    const caller = t.createCallerFactory(inner)(ctx, { ...(signal && { signal }) })
    for await (const value of await caller[path]()) return value
  }

  const router = t.router({
    read: protectedProcedure.query(({ ctx }) => firstOf('chat', ctx)),
    write: protectedProcedure.mutation(({ ctx, signal }) => firstOf('chat', ctx, signal)),
    readTwice: protectedProcedure.query(({ ctx, signal }) => firstOf('adminChat', ctx, signal)),
    publicRead: t.procedure.query(({ ctx }) => firstOf('chat', ctx)),
  })

  test.each(['read', 'write', 'readTwice', 'publicRead'])('reads it over HTTP: %s', async (path) => {
    const { http } = createAuthContext(auth.config)
    const response = await fetchRequestHandler({
      endpoint: '/trpc',
      req: new Request(`${auth.config.baseUrl}/trpc/${path}`, {
        method: path === 'write' ? 'POST' : 'GET',
        headers: { cookie: admin.cookie, 'content-type': 'application/json', 'x-sallyport': '1' },
      }),
      router,
      createContext: (options) => ({ ...http(options), db: auth.db }),
    })
    expect(await response.json()).toEqual({ result: { data: 'ready' } })
  })
})

test('a subscription over server-sent events calls a query after the expiry of its JWT', async () => {
  const inner = t.router({ me: protectedProcedure.query(({ ctx }) => ctx.user.id) })
  const router = t.router({
    clock: protectedProcedure.subscription(async function* ({ ctx }) {
      auth.clock.advance(16 * 60)
      yield await t.createCallerFactory(inner)(ctx).me()
    }),
  })
  const { http } = createAuthContext(auth.config)
  const response = await fetchRequestHandler({
    endpoint: '/trpc',
    req: new Request(`${auth.config.baseUrl}/trpc/clock`, {
      headers: { cookie: admin.cookie, 'sec-fetch-site': 'same-origin' },
    }),
    router,
    createContext: (options) => ({ ...http(options), db: auth.db }),
  })
  expect(await response.text()).toContain(`data: "${admin.userId}"`)
})

describe('with another copy of this package', () => {
  test('a stream behind its requireRole ends when the user loses the role', async () => {
    const router = t.router({
      clock: protectedProcedure
        .use(other.requireRole('admin'))
        .subscription(({ ctx }) => untilAborted(ctx.auth.signal)),
    })
    const ended = endOf(
      await t
        .createCallerFactory(router)(context({ cookie: admin.cookie }))
        .clock(),
    )
    await demote()
    expect(await ended).toMatch(/role/i)
  })

  test('its error formatter knows that a guard rejected the call', async () => {
    const router = t.router({ me: protectedProcedure.query(() => 'me') })
    const error: unknown = await t
      .createCallerFactory(router)(context())
      .me()
      .catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(TRPCError)
    for (const read of [authErrorData, other.authErrorData])
      expect(read({ error: error as TRPCError, path: 'me' })).toMatchObject({
        reason: 'TOKEN_MISSING',
        replay: true,
      })
  })
})
