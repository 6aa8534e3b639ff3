import { describe, test } from 'vitest'
import { applyCodemod, CONTEXT, PROCEDURES } from './apply-codemod.ts'

/** Returns what becomes of a guard between `t.procedure.use(` and `)`. */
function move(guard: string, { before = '', base = 't.procedure' } = {}) {
  const text = `${PROCEDURES}${before}\nexport const protectedProcedure = ${base}.use(${guard})\n`
  const { changed, left } = applyCodemod({ 'context.ts': CONTEXT, 'trpc.ts': text })
  const after = changed['trpc.ts']
  return {
    procedure: after === undefined ? null : /protectedProcedure = ([\s\S]+?)\n*$/.exec(after)?.[1],
    after,
    left: left.filter((line) => line.startsWith('trpc.ts:')),
  }
}

const guard = (statements: string, next = 'return next()') =>
  `async ({ ctx, next }) => {\n  ${statements}\n  ${next}\n}`
const rejects = (test: string) => guard(`if (${test}) throw new TRPCError({ code: 'UNAUTHORIZED' })`)

describe('guards that are replaced', () => {
  test.for([
    { shape: 'a session', code: rejects('!ctx.session') },
    { shape: 'a user of a session', code: rejects('!ctx.session?.user') },
    { shape: 'a session or its user', code: rejects('!ctx.session || !ctx.session.user') },
    { shape: 'an id', code: rejects('!ctx.session?.user?.id') },
    { shape: 'null', code: rejects('ctx.user === null') },
    { shape: 'undefined', code: rejects('ctx.user == undefined') },
    { shape: 'an assertion of types', code: rejects('!(ctx.session as Session)!.user') },
    { shape: 'a function that is not async', code: rejects('!ctx.user').replace('async ', '') },
    {
      shape: 'an awaited call',
      code: guard("if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })", 'return await next()'),
    },
    {
      shape: 'a block',
      code: guard("if (!ctx.user) {\n throw new TRPCError({ code: 'FORBIDDEN', message: 'Sign in' })\n }"),
    },
    {
      shape: 'a copied session',
      code: guard(
        "if (!ctx.session?.user) throw new TRPCError({ code: 'UNAUTHORIZED' })",
        'return next({ ctx: { ...ctx, session: { ...ctx.session, user: ctx.session.user }, user: ctx.session.user } })',
      ),
    },
    {
      shape: 'a named function with its options',
      code: `async function isAuthed(opts) {
        const { ctx } = opts
        if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })
        return opts.next({ ctx: { user: ctx.user } })
      }`,
    },
    {
      shape: 'parameters that destructure ctx',
      code: `({ ctx: { session: { user } }, next }) => {
        if (!user) throw new TRPCError({ code: 'UNAUTHORIZED' })
        return next({ ctx: { user } })
      }`,
    },
    {
      shape: 'another name for ctx',
      code: `({ ctx: context, next: go }) => {
        const user = context.session?.user
        if (!user) throw new TRPCError({ code: 'UNAUTHORIZED' })
        return go({ ctx: { user } })
      }`,
    },
  ])('$shape', ({ code }, { expect }) => {
    const { procedure, left } = move(code)
    expect(procedure).toBe('t.procedure.use(sessionMiddleware)')
    expect(left).toEqual([])
  })

  test.for([
    { test: "ctx.user.role !== 'admin'", roles: "requireRole('admin')" },
    { test: "!ctx.user || ctx.user.role !== 'admin'", roles: "requireRole('admin')" },
    {
      test: "ctx.session?.user.role !== 'a' && ctx.session?.user.role !== 'b'",
      roles: "requireRole('a', 'b')",
    },
    { test: "!['a', 'b'].includes(ctx.user.role)", roles: "requireRole('a', 'b')" },
    {
      test: "ctx.user.role !== 'a' || ctx.user.role !== 'b'",
      roles: "requireRole('a')).use(requireRole('b')",
    },
  ])('a role: $test', ({ test: condition, roles }, { expect }) => {
    const { procedure, left } = move(rejects(condition))
    expect(procedure).toBe(`t.procedure.use(sessionMiddleware).use(${roles})`)
    expect(left).toEqual([])
  })

  test('a role behind a moved guard needs no second session', ({ expect }) => {
    const before = `const signedIn = t.procedure.use(${rejects('!ctx.user')})`
    const { procedure } = move(rejects("ctx.user.role !== 'admin'"), {
      before,
      base: 'signedIn.input(z.string())',
    })
    expect(procedure).toBe("signedIn.input(z.string()).use(requireRole('admin'))")
  })

  test('a guard with a name is removed with its comment, and so are unused imports', ({ expect }) => {
    const before = `\n/** Signed in. */\nconst isAuthed = t.middleware(${rejects('!ctx.user')})\n`
    const { after } = move('isAuthed', { before })
    expect(after).toBe(`
import { initTRPC } from '@trpc/server'
import type { createContext } from './context.ts'
import { sessionMiddleware } from '@sallyport/trpc'
const t = initTRPC.context<typeof createContext>().create()

export const protectedProcedure = t.procedure.use(sessionMiddleware)
`)
  })

  test('imports can have other names', ({ expect }) => {
    const code = `
      import { initTRPC as create, TRPCError } from '@trpc/server'
      const { procedure: base, middleware: m } = create.create()
      const isAuthed = m(${rejects('!ctx.user')})
      export const signedIn = base.use(isAuthed)`
    const { changed } = applyCodemod({ 'context.ts': CONTEXT, 'trpc.ts': code })
    expect(changed['trpc.ts']).toContain('signedIn = base.use(sessionMiddleware)')
  })
})

describe('guards that stay, and are listed', () => {
  test.for([
    { doubt: 'a negated condition', code: rejects('ctx.user') },
    { doubt: 'a double negation', code: rejects('!!ctx.user') },
    { doubt: 'another operator', code: rejects('!ctx.user && !ctx.apiKey') },
    { doubt: 'an email verification', code: rejects('!ctx.user || !ctx.user.emailVerified') },
    {
      doubt: 'a second check',
      code: guard(
        "if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })\n  if (!ctx.org) throw new TRPCError({ code: 'FORBIDDEN' })",
      ),
    },
    {
      doubt: 'a nested check',
      code: guard(
        "if (ctx.user) { if (ctx.user.banned) throw new TRPCError({ code: 'FORBIDDEN' }) }\n if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })",
      ),
    },
    {
      doubt: 'a log',
      code: guard("console.log(ctx.user)\n  if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })"),
    },
    {
      doubt: 'a log in the branch',
      code: guard("if (!ctx.user) { log('anonymous'); throw new TRPCError({ code: 'UNAUTHORIZED' }) }"),
    },
    {
      doubt: 'a log in the error',
      code: guard("if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED', cause: log() })"),
    },
    {
      doubt: 'a log in a default value',
      code: guard(
        "const { user = log() } = ctx.session\n if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })",
      ),
    },
    {
      doubt: 'an else',
      code: guard("if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' }); else audit(ctx)"),
    },
    {
      doubt: 'another member of ctx',
      code: guard(
        "if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })",
        'return next({ ctx: { user: ctx.user, org: ctx.user.orgId } })',
      ),
    },
    {
      doubt: 'another user',
      code: guard(
        "if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })",
        'return next({ ctx: { user: await load(ctx.user.id) } })',
      ),
    },
    {
      doubt: 'a changed user',
      code: guard(
        "if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })",
        'return next({ ctx: { user: { ...ctx.user, role: null } } })',
      ),
    },
    {
      doubt: 'another input',
      code: guard(
        "if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })",
        'return next({ input: ctx.user.id })',
      ),
    },
    {
      doubt: 'a look at the result',
      code: guard(
        "if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })\n  const result = await next()",
        'return result',
      ),
    },
    { doubt: 'a guard that hides', code: guard("if (!ctx.user) throw new TRPCError({ code: 'NOT_FOUND' })") },
    {
      doubt: 'an error of another class with a code',
      code: guard("if (!ctx.user) throw new Redirect({ code: 'UNAUTHORIZED' })"),
    },
    { doubt: 'an error with other options', code: guard('if (!ctx.user) throw new TRPCError(options)') },
    {
      doubt: 'a declaration that uses itself',
      code: guard("const user = user\n if (!user) throw new TRPCError({ code: 'UNAUTHORIZED' })"),
    },
    { doubt: 'an API key', code: rejects('!keys.has(ctx.key)') },
    { doubt: 'an error of another class', code: guard('if (!ctx.user) throw new Unauthorized()') },
    { doubt: 'a returned error', code: guard('if (!ctx.user) return { ok: false }') },
    { doubt: 'no rejection', code: guard('if (!ctx.user) {}') },
    { doubt: 'a forbidden role', code: rejects("ctx.user.role === 'guest'") },
    { doubt: 'a role or another right', code: rejects("ctx.user.role !== 'admin' && !ctx.user.isOwner") },
    { doubt: 'a role in a constant', code: rejects('ctx.user.role !== ADMIN') },
    { doubt: 'roles in a constant', code: rejects('!ADMINS.includes(ctx.user.role)') },
    { doubt: 'a role of an organization', code: rejects("ctx.session.member.role !== 'admin'") },
    {
      doubt: 'an assignment',
      code: guard("ctx.user = await load()\n  if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })"),
    },
    { doubt: 'an assignment in the condition', code: rejects('!(ctx.user = load())') },
    { doubt: 'a call', code: rejects('!(await isAllowed(ctx.user))') },
    {
      doubt: 'a shadowed ctx',
      code: guard(
        "const ctx2 = ctx.session\n { const ctx = other; if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' }) }",
      ),
    },
    {
      doubt: 'a ctx with a default',
      code: `({ ctx = guest, next }) => { if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' }); return next() }`,
    },
    {
      doubt: 'a variable that can change',
      code: guard("let user = ctx.user\n if (!user) throw new TRPCError({ code: 'UNAUTHORIZED' })"),
    },
    { doubt: 'a computed member', code: rejects('!ctx[name] || !ctx.user') },
  ])('$doubt', ({ code }, { expect }) => {
    const { procedure, left } = move(code)
    expect(procedure).toBeNull()
    expect(left.length).toBeGreaterThan(0)
  })

  test.for([
    {
      before: 'another user',
      middleware: 'async ({ ctx, next }) => next({ ctx: { user: await userOf(ctx.apiKey) } })',
    },
    { before: 'an unknown spread', middleware: 'async ({ next }) => next({ ctx: { ...(await load()) } })' },
    { before: 'an assignment', middleware: '({ ctx, next }) => { ctx.user = GUEST; return next() }' },
    { before: 'a function that gets ctx', middleware: '({ ctx, next }) => { identify(ctx); return next() }' },
    { before: 'a function that gets the options', middleware: '(opts) => identify(opts)' },
    { before: 'a function that gets next', middleware: '({ next }) => identify(next)' },
    { before: 'options with a rest', middleware: '({ next, ...rest }) => { identify(rest); return next() }' },
    { before: 'an unknown middleware', middleware: 'fromElsewhere' },
    { before: 'a package', middleware: 'trpcMiddleware({ attachRpcInput: true })' },
  ])('behind a middleware that may set the user: $before', ({ middleware }, { expect }) => {
    const { procedure, left } = move(rejects('!ctx.user'), { base: `t.procedure.use(${middleware})` })
    expect(procedure).toBeNull()
    expect(left.some((line) => line.includes('may set the user'))).toBe(true)
  })

  test('a middleware that only measures or adds something else is no obstacle', ({ expect }) => {
    const before = `
      const timing = t.middleware(async ({ next, path, ctx }) => {
        const result = await next({ ctx: { ...ctx, db } })
        console.log(path, ctx.ip)
        return result
      })`
    const { procedure, left } = move(rejects('!ctx.user'), { before, base: 't.procedure.use(timing)' })
    expect(procedure).toBe('t.procedure.use(timing).use(sessionMiddleware)')
    expect(left).toEqual([])
  })

  test('with a name that is declared twice', ({ expect }) => {
    const [first, second] = [rejects('!ctx.user'), rejects('!ctx.user.emailVerified')]
    const named = (code: string) => code.replace('async (', 'async function isAuthed(').replace('=>', '')
    const { procedure } = move('isAuthed', { before: `${named(first)}\n${named(second)}` })
    expect(procedure).toBeNull()
  })

  test('in a file with its own sessionMiddleware', ({ expect }) => {
    const { procedure, left } = move(rejects('!ctx.user'), { before: 'const sessionMiddleware = 1' })
    expect(procedure).toBeNull()
    expect(left).toEqual([expect.stringContaining('has its own sessionMiddleware')])
  })

  test('a guard that is used behind a good and a doubtful middleware is replaced only once', ({ expect }) => {
    const before = `
      const isAuthed = t.middleware(${rejects('!ctx.user')})
      const keyed = t.procedure.use(fromElsewhere).use(isAuthed)`
    const { after = '', procedure, left } = move('isAuthed', { before })
    expect(procedure).toBe('t.procedure.use(sessionMiddleware)')
    expect(after).toContain('const isAuthed = t.middleware(')
    expect(after).toContain('.use(fromElsewhere).use(isAuthed)')
    expect(left).toContainEqual(expect.stringContaining('"isAuthed" was replaced'))
  })
})
