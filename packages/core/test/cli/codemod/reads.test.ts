import { test } from 'vitest'
import { applyCodemod, CONTEXT, PROCEDURES } from './apply-codemod.ts'

const TRPC = `${PROCEDURES}
export const publicProcedure = t.procedure
export const protectedProcedure = t.procedure.use(({ ctx, next }) => {
  if (!ctx.session) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { session: ctx.session } })
})
export const verifiedProcedure = protectedProcedure.use(({ ctx, next }) => {
  if (!isVerified(ctx.session.user.email)) throw new TRPCError({ code: 'FORBIDDEN' })
  return next({ ctx: { verified: true } })
})
export const asOtherProcedure = protectedProcedure.use(async ({ ctx, next }) =>
  next({ ctx: { user: await impersonated(ctx.session.user.id) } }),
)
`

/** Returns the router after the codemod, without its import, and what is listed in it. */
function rewrite(router: string) {
  const imports =
    "import { protectedProcedure, publicProcedure, verifiedProcedure, asOtherProcedure } from './trpc'\n"
  const { changed, left } = applyCodemod({
    'context.ts': CONTEXT,
    'trpc.ts': TRPC,
    'router.ts': `${imports}export const r = ${router}`,
  })
  return {
    after: changed['router.ts']?.replace(`${imports}export const r = `, '') ?? null,
    trpc: changed['trpc.ts'] ?? '',
    left: left.filter((line) => line.startsWith('router.ts')),
  }
}

test.for<[before: string, after: string]>([
  [
    'protectedProcedure.query(({ ctx }) => ctx.session.user.id)',
    'protectedProcedure.query(({ ctx }) => ctx.user.id)',
  ],
  [
    'protectedProcedure.query(({ ctx }) => ctx.session?.user!.id)',
    'protectedProcedure.query(({ ctx }) => ctx.user!.id)',
  ],
  [
    'protectedProcedure.query((opts) => opts.ctx.session.user)',
    'protectedProcedure.query((opts) => opts.ctx.user)',
  ],
  [
    'protectedProcedure.input(z.any()).mutation(({ ctx: c }) => save(c.session.user.email))',
    'protectedProcedure.input(z.any()).mutation(({ ctx: c }) => save(c.user.email))',
  ],
  [
    'protectedProcedure.query(function (opts) { const { ctx } = opts; return ctx.session.user.id })',
    'protectedProcedure.query(function (opts) { const { ctx } = opts; return ctx.user.id })',
  ],
  [
    'verifiedProcedure.query(({ ctx }) => [...ctx.session.user.name])',
    'verifiedProcedure.query(({ ctx }) => [...ctx.user.name])',
  ],
  [
    'protectedProcedure.query(({ ctx }) => list.map(() => ctx.session.user.id))',
    'protectedProcedure.query(({ ctx }) => list.map(() => ctx.user.id))',
  ],
  [
    'protectedProcedure.query(({ ctx }) => ((ctx) => ctx.session.user.id)(other) + ctx.session.user.id)',
    'protectedProcedure.query(({ ctx }) => ((ctx) => ctx.session.user.id)(other) + ctx.user.id)',
  ],
])('behind a guard, %s', ([before, after], { expect }) => {
  expect(rewrite(before).after).toBe(after)
})

test('a middleware that follows a guard is rewritten, and stays', ({ expect }) => {
  const { trpc } = rewrite('{}')
  expect(trpc).toContain('if (!isVerified(ctx.user.email)) throw')
})

test.for([
  {
    code: 'publicProcedure.query(({ ctx }) => ctx.session?.user.id)',
    reason: 'a public procedure reads ctx.session',
  },
  {
    code: 'publicProcedure.query(({ ctx }) => { const { user } = ctx; return user })',
    reason: 'a public procedure reads ctx.user',
  },
  { code: 'publicProcedure.query(({ ctx: { user } }) => user)', reason: 'a public procedure reads ctx.user' },
  { code: 'otherProcedure.query(({ ctx }) => ctx.user.id)', reason: 'no guard was moved' },
  { code: 'asOtherProcedure.query(({ ctx }) => ctx.session.user.id)', reason: 'no guard was moved' },
  {
    code: 'protectedProcedure.use(fromElsewhere).query(({ ctx }) => ctx.session.user.id)',
    reason: 'no guard was moved',
  },
  {
    code: 'protectedProcedure.use(({ ctx, next }) => { ctx.user = other(); return next() }).query(({ ctx }) => ctx.session.user.id)',
    reason: 'no guard was moved',
  },
  {
    code: 'protectedProcedure.concat(other).query(({ ctx }) => ctx.session.user.id)',
    reason: 'no guard was moved',
  },
  { code: 'protectedProcedure.query(({ ctx: { session } }) => session.user.id)', reason: 'still works' },
  {
    code: 'protectedProcedure.query(({ ctx }) => { ctx.session = other; return ctx.session.user.id })',
    reason: 'still works',
  },
  { code: 'protectedProcedure.query(({ ctx }) => ctx.user.image)', reason: 'no "image"' },
  {
    code: 'protectedProcedure.query(({ ctx }) => ctx.session.activeOrganizationId)',
    reason: 'use the middlewares of bindSession()',
  },
  { code: 'protectedProcedure.query(({ ctx }) => ctx.session.session.id)', reason: 'Remove the second' },
  { code: '(ctx: Context) => ctx.session.user.id', reason: 'outside of a procedure' },
  { code: '({ ctx }: Options) => { const { user } = ctx; return user }', reason: 'outside of a procedure' },
  { code: '({ ctx: { user } }: Options) => user', reason: 'outside of a procedure' },
])('$code is listed', ({ code, reason }, { expect }) => {
  const { after, left } = rewrite(code)
  expect(after).toBeNull()
  expect(left).toContainEqual(expect.stringMatching(new RegExp(`^router\\.ts:2 .*${reason}`)))
})

test('a second run changes nothing', ({ expect }) => {
  const code = "import { sessionMiddleware } from '@sallyport/trpc'\n"
  const { changed, left } = applyCodemod({
    'trpc.ts': `${code}${PROCEDURES}export const protectedProcedure = t.procedure.use(sessionMiddleware)\n`,
    'router.ts':
      "import { protectedProcedure } from './trpc'\nexport const r = protectedProcedure.query(({ ctx }) => ctx.user.id)\n",
  })
  expect({ changed, left }).toEqual({ changed: {}, left: [] })
})
