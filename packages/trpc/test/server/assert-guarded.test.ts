import {
  assertGuarded,
  type DatabaseContext,
  optionalSessionMiddleware,
  requireRole,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC, lazy } from '@trpc/server'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

const t = initTRPC.context<DatabaseContext>().create()
const guarded = t.procedure.use(sessionMiddleware)
const name = z.object({ name: z.string() })
const open = t.procedure.query(() => 'ok')

const notes = t.router({ list: guarded.query(() => []), add: guarded.input(name).mutation(() => 'added') })
const router = t.router({
  health: open,
  whoami: t.procedure.use(optionalSessionMiddleware).query(() => 'ok'),
  notes,
  users: guarded.use(requireRole('admin')).query(() => []),
  rotate: t.procedure.use(sensitiveSessionMiddleware).mutation(() => 'rotated'),
  logged: t.procedure
    .use(({ next }) => next())
    .use(sessionMiddleware)
    .query(() => 'ok'),
  shared: t.procedure
    .concat(guarded)
    .input(name)
    .query(() => 'ok'),
  posts: { latest: open },
})
const PUBLIC = ['health', 'whoami', 'posts.latest']

describe('assertGuarded', () => {
  test('accepts a router whose procedures are all guarded or listed as public', () => {
    expect(() => assertGuarded(router, { public: PUBLIC })).not.toThrow()
  })

  test.each([
    {
      fault: "an open procedure that isn't listed",
      router: t.router({ health: open }),
      public: [],
      message: 'health has no session middleware and is not listed as public',
    },
    {
      fault: 'an open procedure in a router of a router',
      router: t.router({ posts: { drafts: t.router({ all: open }) } }),
      public: ['posts'],
      message:
        'posts.drafts.all has no session middleware and is not listed as public; posts is listed as public and does not exist',
    },
    {
      fault: 'a procedure with an optional session',
      router: t.router({ whoami: t.procedure.use(optionalSessionMiddleware).query(() => 'ok') }),
      public: [],
      message: 'whoami has no session middleware and is not listed as public',
    },
    {
      fault: 'a middleware that only looks like a guard',
      router: t.router({ me: t.procedure.use((call) => sessionMiddleware(call)).query(() => 'ok') }),
      public: [],
      message: 'me has no session middleware and is not listed as public',
    },
    {
      fault: 'a guarded procedure that is listed as public',
      router: t.router({ me: guarded.query(() => 'ok') }),
      public: ['me'],
      message: 'me is listed as public and has a session middleware',
    },
    {
      fault: 'an input that reveals its errors to anonymous callers',
      router: t.router({
        add: t.procedure
          .input(name)
          .use(sessionMiddleware)
          .mutation(() => 'added'),
      }),
      public: [],
      message: 'add parses its input before its guard',
    },
    {
      fault: 'an input before a sensitive guard',
      router: t.router({
        add: t.procedure
          .input(name)
          .use(sensitiveSessionMiddleware)
          .mutation(() => 'added'),
      }),
      public: [],
      message: 'add parses its input before its guard',
    },
    {
      fault: 'a public path that does not exist',
      router: t.router({ me: guarded.query(() => 'ok') }),
      public: ['health'],
      message: 'health is listed as public and does not exist',
    },
    {
      fault: 'a router that is loaded on its first call',
      router: t.router({ me: guarded.query(() => 'ok'), slow: lazy(async () => t.router({ health: open })) }),
      public: [],
      message: 'slow is loaded lazily and cannot be checked',
    },
  ])('names $fault', ({ router: faulty, public: listed, message }) => {
    expect(() => assertGuarded(faulty, { public: listed })).toThrow(new Error(`assertGuarded: ${message}`))
  })

  test('names all faults at once', () => {
    const faulty = t.router({ one: open, two: open })
    expect(() => assertGuarded(faulty, { public: ['three'] })).toThrow(
      new Error(
        'assertGuarded: one has no session middleware and is not listed as public; ' +
          'two has no session middleware and is not listed as public; three is listed as public and does not exist',
      ),
    )
  })

  test('accepts an output that is checked before the guard', () => {
    const listed = t.procedure
      .output(z.array(z.string()))
      .use(sessionMiddleware)
      .query(() => [])
    expect(() => assertGuarded(t.router({ listed }), { public: [] })).not.toThrow()
  })

  test('accepts a public procedure that parses its input', () => {
    const search = t.router({ search: t.procedure.input(name).query(() => []) })
    expect(() => assertGuarded(search, { public: ['search'] })).not.toThrow()
  })
})
