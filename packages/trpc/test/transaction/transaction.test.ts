import type { Reason } from '@sallyport/core'
import { withAuthStore } from '@sallyport/core'
import type { RequiredProof } from '@sallyport/core/internal/protocol'
import { authStore } from '@sallyport/core/internal/server'
import { createAuthContext } from '@sallyport/trpc'
import { TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { sql } from 'kysely'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { SignedIn } from '../revocation/signed-in-users.ts'
import { rejectionFor } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'
import { MAX_AGE, type NoteTransaction, noteRouter, type Script } from './note-router.ts'
import type { App } from './open-app.ts'
import { call, contextOf, openForTests, STORES } from './stores.ts'

describe.each(STORES)('ctx.transaction in $engine', async ({ createDatabase }) => {
  const app = await openForTests(await createDatabase())
  afterEach(() => app.db.deleteFrom('note').execute())

  const write = (session: SignedIn, script?: Script, signal?: AbortSignal) =>
    call('write', contextOf(app, session, script), signal)

  test("writes, and returns the function's result", async () => {
    const ada = await app.signIn()
    expect(await write(ada)).toEqual({ data: ada.sessionId, rejection: null })
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  test('can run several times in a call, in sequence', async () => {
    const ada = await app.signIn()
    expect(await call('twice', contextOf(app, ada))).toEqual({
      data: [ada.sessionId, ada.sessionId],
      rejection: null,
    })
    expect(await app.notes()).toEqual([ada.sessionId, ada.sessionId])
  })

  const set = (app: App, { sessionId }: SignedIn, change: Record<string, unknown>) =>
    app.db.updateTable('session').set(change).where('id', '=', sessionId).execute()
  const longAgo = () => new Date(app.config.now().getTime() - (MAX_AGE + 1) * 1000)
  /** Stores which methods the user proved this many seconds ago. */
  const prove = (session: SignedIn, methods: Readonly<Record<string, number>>) => {
    const now = Math.floor(app.config.now().getTime() / 1000)
    const times = Object.entries(methods).map(([name, ago]) => [name, now - ago])
    return set(app, session, { amr: JSON.stringify(Object.fromEntries(times)) })
  }
  const required = { factor: null, maxAgeSeconds: MAX_AGE } as const
  const totpRequired = { factor: 'totp', maxAgeSeconds: MAX_AGE } as const
  const changes: {
    change: string
    procedure?: 'write' | 'fresh' | 'withFactor' | 'asAdmin' | 'asAdminBefore'
    role?: string
    make: (session: SignedIn) => Promise<unknown>
    reason: Reason | null
    required?: RequiredProof
  }[] = [
    { change: 'nothing', make: async () => {}, reason: null },
    { change: 'a revocation', make: app.revoke, reason: 'SESSION_NOT_FOUND' },
    { change: 'a ban', make: app.ban, reason: 'ACCOUNT_BANNED' },
    {
      change: 'the end of the session',
      make: (session) => set(app, session, { expiresAt: app.config.now() }),
      reason: 'SESSION_EXPIRED',
    },
    {
      change: 'a plain delete of the row',
      make: ({ sessionId }) => sql`delete from session where id = ${sessionId}`.execute(app.db),
      reason: 'SESSION_NOT_FOUND',
    },
    {
      change: 'a plain delete of the user',
      make: ({ userId }) => sql`delete from "user" where id = ${userId}`.execute(app.db),
      reason: 'SESSION_NOT_FOUND',
    },
    {
      change: 'another owner',
      make: async (session) => set(app, session, { userId: (await app.signIn()).userId }),
      reason: 'SESSION_NOT_FOUND',
    },
    {
      change: 'new credentials',
      make: (session) => set(app, session, { version: 2, provedVersion: 2 }),
      reason: 'TOKEN_INVALID',
    },
    {
      change: 'the loss of a role',
      procedure: 'asAdmin',
      role: 'admin',
      make: ({ userId }) =>
        app.db.updateTable('user').set({ role: 'user' }).where('id', '=', userId).execute(),
      reason: 'ROLE_REQUIRED',
    },
    {
      change: 'the loss of a role that an earlier guard checked',
      procedure: 'asAdminBefore',
      role: 'admin',
      make: ({ userId }) =>
        app.db.updateTable('user').set({ role: 'user' }).where('id', '=', userId).execute(),
      reason: 'ROLE_REQUIRED',
    },
    {
      change: 'a role that is unchanged',
      procedure: 'asAdminBefore',
      role: 'admin',
      make: async () => {},
      reason: null,
    },
    {
      change: 'a sign-in that is no longer recent',
      procedure: 'fresh',
      make: (session) => set(app, session, { lastAuthenticatedAt: longAgo() }),
      reason: 'SESSION_NOT_FRESH',
      required,
    },
    {
      change: "an old sign-in that needn't be recent",
      make: (session) => set(app, session, { lastAuthenticatedAt: longAgo() }),
      reason: null,
    },
    {
      change: 'the loss of a factor',
      procedure: 'withFactor',
      make: (session) => prove(session, { pwd: 0, passkey: 0 }),
      reason: 'FACTOR_REQUIRED',
      required: totpRequired,
    },
    {
      change: 'an old proof of the factor',
      procedure: 'withFactor',
      make: (session) => prove(session, { pwd: 0, otp: MAX_AGE + 1 }),
      reason: 'SESSION_NOT_FRESH',
      required: totpRequired,
    },
    {
      change: 'an old sign-in, with a recent factor',
      procedure: 'withFactor',
      make: (session) => set(app, session, { lastAuthenticatedAt: longAgo() }),
      reason: null,
    },
  ]
  test.each(changes)(
    'decides again under the locks: $change since the guard gives $reason',
    async ({ procedure = 'write', role = 'user', make, reason, required }) => {
      const ada = await app.signIn(role)
      await prove(ada, { pwd: 0, otp: 0 })
      const { rejection } = await call(procedure, contextOf(app, ada, { before: () => make(ada) }))
      const expected = { replay: false, ...(required && { required }) }
      expect(rejection).toEqual(reason === null ? null : rejectionFor(reason, expected))
      expect(await app.notes()).toEqual(reason === null ? [ada.sessionId] : [])
    },
  )

  test('decides by the time under the locks, not by the time at which the call began', async () => {
    const ada = await app.signIn()
    await prove(ada, { pwd: 0, otp: 0 })
    let secondsLater = 0
    const now = () => new Date(app.config.now().getTime() + secondsLater * 1000)
    const context = contextOf({ ...app, config: { ...app.config, now } }, ada, {
      before: async () => {
        secondsLater = MAX_AGE + 1
      },
    })
    const { rejection } = await call('withFactor', context)
    const expected = { replay: false, required: totpRequired }
    expect(rejection).toEqual(rejectionFor('SESSION_NOT_FRESH', expected))
    expect(await app.notes()).toEqual([])
  })

  test('needs a factor that the row has, before the resolver runs', async () => {
    const ada = await app.signIn()
    const { rejection } = await call('withFactor', contextOf(app, ada))
    expect(rejection).toEqual(rejectionFor('FACTOR_REQUIRED', { replay: true, required: totpRequired }))
    expect(await app.notes()).toEqual([])
    await prove(ada, { otp: 0 })
    expect((await call('withFactor', contextOf(app, ada))).rejection).toBeNull()
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  test('checks the key that proved the identity again', async () => {
    const ada = await app.signIn()
    const [own] = app.config.issuers
    let isLeaked = false
    const jwks = { ...own.jwks, status: () => (isLeaked ? ('gone' as const) : ('known' as const)) }
    const config = { ...app.config, issuers: [{ ...own, jwks }] as const }
    const before = async () => {
      isLeaked = true
    }
    const { rejection } = await call('write', contextOf({ ...app, config }, ada, { before }))
    expect(rejection).toEqual(rejectionFor('TOKEN_INVALID', { replay: false }))
    expect(await app.notes()).toEqual([])
  })

  test.each([
    ['a revocation', (session: SignedIn) => app.revoke(session)],
    ['a ban', (session: SignedIn) => app.ban(session)],
    [
      'a plain delete of the row',
      ({ sessionId }: SignedIn) => app.db.deleteFrom('session').where('id', '=', sessionId).execute(),
    ],
    [
      'a plain delete of the user',
      ({ userId }: SignedIn) => app.db.deleteFrom('user').where('id', '=', userId).execute(),
    ],
    [
      'a change of the role',
      ({ userId }: SignedIn) =>
        app.db.updateTable('user').set({ role: 'none' }).where('id', '=', userId).execute(),
    ],
  ])('makes %s wait until the transaction is over', async (_name, revoke) => {
    const ada = await app.signIn()
    const order: string[] = []
    let revoked: Promise<unknown> = Promise.resolve()
    const inside = async (trx: NoteTransaction) => {
      revoked = revoke(ada).then(() => order.push('revoked'))
      for (let turn = 0; turn < 20; turn++) await sql`select 1`.execute(trx)
      order.push('written')
    }
    expect((await write(ada, { inside })).rejection).toBeNull()
    await revoked
    expect(order).toEqual(['written', 'revoked'])
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  test('runs two transactions of one session in sequence', async () => {
    const ada = await app.signIn()
    let running = 0
    const inside = async (trx: NoteTransaction) => {
      running++
      for (let turn = 0; turn < 20; turn++) await sql`select 1`.execute(trx)
      expect(running).toBe(1)
      running--
    }
    const outcomes = await Promise.all([write(ada, { inside }), write(ada, { inside })])
    expect(outcomes.map(({ rejection }) => rejection)).toEqual([null, null])
  })

  test("rolls back and rethrows a function's error", async () => {
    const ada = await app.signIn()
    const inside = async () => {
      throw new TRPCError({ code: 'CONFLICT', message: 'Not enough money' })
    }
    const { rejection } = await write(ada, { inside })
    expect(rejection).toMatchObject({ code: 'CONFLICT', message: 'Not enough money', auth: null })
    expect(await app.notes()).toEqual([])
    expect((await write(ada)).rejection).toBeNull()
  })

  test('is unusable afterwards', async () => {
    const ada = await app.signIn()
    let kept: NoteTransaction | undefined
    const inside = async (trx: NoteTransaction) => {
      kept = trx
    }
    await write(ada, { inside })
    await expect(kept?.insertInto('note').values({ id: '1', text: 'late' }).execute()).rejects.toThrow()
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  test('rolls back the writes that a function left behind', async () => {
    const ada = await app.signIn()
    let late: Promise<unknown>[] = []
    const inside = async (trx: NoteTransaction) => {
      late = Array.from({ length: 5 }, (_, i) =>
        trx
          .insertInto('note')
          .values({ id: String(i), text: 'late' })
          .execute(),
      )
      for (const promise of late) promise.catch(() => {})
      throw new TRPCError({ code: 'CONFLICT' })
    }
    expect((await write(ada, { inside })).rejection?.code).toBe('CONFLICT')
    await Promise.allSettled(late)
    expect(await app.notes()).toEqual([])
  })

  test('rejects a nested transaction, which would wait for the outer one', async () => {
    const ada = await app.signIn()
    const inside: Script['inside'] = (_trx, ctx) => ctx.transaction(async () => 'never')
    const { rejection } = await write(ada, { inside })
    expect(rejection).toMatchObject({
      code: 'INTERNAL_SERVER_ERROR',
      message: 'This call has an open ctx.transaction. Use its trx, or wait until it ends',
    })
    expect(await app.notes()).toEqual([])
    expect((await write(ada)).rejection).toBeNull()
  })

  describe('a caller who disconnects', () => {
    test('while the function runs: everything is rolled back', async () => {
      const ada = await app.signIn()
      const caller = new AbortController()
      let kept: NoteTransaction | undefined
      const inside = async (trx: NoteTransaction) => {
        kept = trx
        caller.abort()
        await new Promise(() => {})
      }
      const { rejection } = await write(ada, { inside }, caller.signal)
      expect(rejection).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST', auth: null })
      expect(await app.notes()).toEqual([])
      await expect(kept?.deleteFrom('note').execute()).rejects.toThrow()
      // No user is kept from writing.
      expect((await write(ada)).rejection).toBeNull()
    })

    test('over WebSocket, while the function runs: everything is rolled back', async () => {
      const ada = await app.signIn()
      const socket = new AbortController()
      const context = createAuthContext(app.config).ws({
        req: { headers: browser(ada).headers },
        info: { connectionParams: null, signal: socket.signal },
      })
      const inside = () => {
        socket.abort()
        return new Promise<void>(() => {})
      }
      const combine = vi.spyOn(AbortSignal, 'any')
      onTestFinished(() => combine.mockRestore())
      // tRPC doesn't abort this signal.
      const { signal } = new AbortController()
      const { rejection } = await call('write', { ...context, db: app.db, script: { inside } }, signal)
      expect(rejection).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST', auth: null })
      // In Node.js 22, each combined signal would stay in memory until the socket closes.
      expect(combine).not.toHaveBeenCalled()
      expect(await app.notes()).toEqual([])
      expect((await write(ada)).rejection).toBeNull()
    })

    test('before the locks: the function does not run', async () => {
      const ada = await app.signIn()
      const caller = new AbortController()
      const before = async () => caller.abort()
      const { rejection } = await write(ada, { before }, caller.signal)
      expect(rejection?.code).toBe('CLIENT_CLOSED_REQUEST')
      expect(await app.notes()).toEqual([])
    })

    test('while it waits for the locks: the function does not run', async () => {
      const ada = await app.signIn()
      const caller = new AbortController()
      const held = Promise.withResolvers<void>()
      const release = Promise.withResolvers<void>()
      const first = write(ada, {
        inside: () => {
          held.resolve()
          return release.promise
        },
      })
      await held.promise
      const before = async () => void setImmediate(() => caller.abort())
      const { rejection } = await write(ada, { before }, caller.signal)
      expect(rejection?.code).toBe('CLIENT_CLOSED_REQUEST')
      release.resolve()
      expect((await first).rejection).toBeNull()
      expect((await write(ada)).rejection).toBeNull()
      expect(await app.notes()).toEqual([ada.sessionId, ada.sessionId])
    })

    test('after the function has ended: the write is committed', async () => {
      const ada = await app.signIn()
      const caller = new AbortController()
      expect((await write(ada, {}, caller.signal)).rejection).toBeNull()
      caller.abort()
      expect(await app.notes()).toEqual([ada.sessionId])
    })
  })

  test('sends the reason to a client over HTTP', async () => {
    const ada = await app.signIn()
    const { headers } = browser(ada)
    const auth = createAuthContext(app.config)
    const response = await fetchRequestHandler({
      endpoint: '/trpc',
      req: new Request('http://localhost:3000/trpc/write', {
        method: 'POST',
        headers: { ...headers, 'x-sallyport': '1', 'content-type': 'application/json' },
      }),
      router: noteRouter,
      createContext: (o) => ({ ...auth.http(o), db: app.db, script: { before: () => app.ban(ada) } }),
    })
    expect(response.status).toBe(403)
    expect((await response.json()).error.data.auth).toEqual({
      reason: 'ACCOUNT_BANNED',
      retryAfterSeconds: null,
      replay: false,
    })
  })

  test('a store without a database causes an error with the fix', async () => {
    const ada = await app.signIn()
    const { sessions, revocations } = app.db[authStore]
    const db = withAuthStore(Object.create(app.db), { sessions, revocations })
    const { rejection } = await call('write', contextOf({ ...app, db }, ada))
    expect(rejection).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', auth: null })
    expect(rejection?.message).toContain('lockSession()')
    expect(await app.notes()).toEqual([])
  })
})
