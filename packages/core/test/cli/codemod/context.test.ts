import { test } from 'vitest'
import { applyCodemod, CONTEXT, PROCEDURES } from './apply-codemod.ts'

const GUARD = `${PROCEDURES}
export const protectedProcedure = t.procedure.use(({ ctx, next }) => {
  if (!ctx.session) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { session: ctx.session } })
})
`

const BETTER_AUTH = "import { betterAuth } from 'better-auth'\nexport const auth = betterAuth({})\n"
const AUTH_JS =
  "import NextAuth from 'next-auth'\nimport { cache } from 'react'\nconst { auth: uncached } = NextAuth({})\nexport const auth = cache(uncached)\n"
const create = (body: string, auth = "import { auth } from './auth.ts'") =>
  `${auth}\nexport const createContext = async ({ headers }) => {\n  ${body}\n}\n`
const getSession = 'await auth.api.getSession({ headers })'

test.for([
  {
    library: 'Better Auth',
    files: { 'auth.ts': BETTER_AUTH, 'context.ts': create(`return { session: ${getSession} }`) },
  },
  {
    library: 'Better Auth, created by a function of a workspace package',
    files: {
      'packages/auth/package.json': '{ "name": "@app/auth" }',
      'packages/auth/src/index.ts':
        "import { betterAuth } from 'better-auth'\nexport function createAuth(env) {\n  return betterAuth({ secret: env })\n}\n",
      'auth.ts': "import { createAuth } from '@app/auth'\nexport const auth = createAuth(env)\n",
      'context.ts': create(`const session = ${getSession}\n return { session }`),
    },
  },
  {
    library: 'Better Auth, behind an alias and a function',
    files: {
      'tsconfig.json': '{ /* aliases */ "compilerOptions": { "paths": { "~/*": ["./src/*"] } } }',
      'src/auth/config.ts': BETTER_AUTH,
      'src/auth/index.ts': "export { auth } from './config'\n",
      'src/session.ts': `import { auth } from '~/auth'\nexport const load = async (headers) => auth.api.getSession({ headers })\n`,
      'context.ts': create(
        'const session = await load(headers)\n return { session: session ?? null }',
        "import { load } from '~/session'",
      ),
    },
  },
  {
    library: 'Auth.js',
    files: { 'auth.ts': AUTH_JS, 'context.ts': create('return { session: await auth() }') },
  },
  {
    library: 'NextAuth 4, with an inner context',
    files: {
      'context.ts': `import { getServerSession } from 'next-auth'
        export const createInnerContext = (opts) => ({ session: opts.session })
        export const createContext = async ({ req, res }) => {
          const inner = await createInnerContext({ session: await getServerSession(req, res, {}) })
          return { ...inner, req }
        }`,
    },
  },
])('a session of $library is moved', ({ files }, { expect }) => {
  const { changed, left } = applyCodemod({ ...files, 'trpc.ts': GUARD })
  expect(changed['trpc.ts']).toContain('.use(sessionMiddleware)')
  expect(left.length).toBeGreaterThan(0)
  for (const line of left) expect(line).toMatch(/^context\.ts:\d+ remove "session" from the context/)
})

test.for([
  {
    doubt: 'a condition',
    context: create(
      `const session = ${getSession}\n if (!session?.user.emailVerified) return { session: null }\n return { session }`,
    ),
  },
  {
    doubt: 'a conditional expression',
    context: create(`const s = ${getSession}\n return { session: s?.user.active ? s : null }`),
  },
  {
    doubt: 'an operator',
    context: create(`const s = ${getSession}\n return { session: s?.user.active && s }`),
  },
  { doubt: 'another function', context: create('return { session: await findActiveSession(headers) }') },
  {
    doubt: 'a function of the app with the name of a library',
    context: create('return { session: await auth() }', 'const auth = async () => (await check()) ?? null'),
  },
  {
    doubt: 'a function that checks more',
    context: create(
      'return { session: await load() }',
      `import { auth } from './auth.ts'\nasync function load() { const s = ${getSession.replace('{ headers }', '')}; return s.user.active ? s : null }`,
    ),
  },
  {
    doubt: 'an object of the app that looks like Better Auth',
    context: create(`return { session: ${getSession} }`, 'const auth = { api: { getSession: checked } }'),
  },
  {
    doubt: 'a member of what Better Auth returns',
    context: create(
      `return { session: ${getSession} }`,
      "import { betterAuth } from 'better-auth'\nconst { auth } = betterAuth({})",
    ),
  },
  {
    doubt: 'a user of the request',
    context: 'export const createContext = ({ req }) => ({ session: req.session })',
  },
  {
    doubt: 'a change',
    context: create(`const session = ${getSession}\n session.user = await load()\n return { session }`),
  },
  {
    doubt: 'a caller of the inner context that passes something else',
    context: `export const createContext = (opts) => ({ session: opts.session })\nserve(() => createContext({ session: check() }))`,
  },
  {
    doubt: 'a promise',
    context: create(
      `return auth.api.getSession({ headers }).then(({ session }) => ({ session: check(session) }))`,
    ),
  },
  {
    doubt: 'a function with another name, beside a plain one,',
    context: `${CONTEXT}\nexport const buildContext = async () => ({ session: await check() })\nexport type Context = Awaited<ReturnType<typeof buildContext>>`,
  },
  {
    doubt: 'an option of the adapter, beside a plain function,',
    context: `${CONTEXT}\nserve({ createContext: async () => ({ session: await check() }) })`,
  },
  {
    doubt: 'a spread, beside a plain function,',
    context: `${CONTEXT}\nexport const createWsContext = async (opts) => ({ ...opts, ...(await check()) })`,
  },
  { doubt: 'another member', context: create(`return { user: ${getSession} }`) },
  {
    doubt: 'a check behind an operator',
    context: create(`const s = ${getSession}\n return { session: s && (await check(s)) }`),
  },
  {
    doubt: 'another session as default',
    context: create(`return { session: (${getSession}) ?? (await guest()) }`),
  },
  {
    doubt: 'a promise of another function',
    context: create('return findActiveSession(headers).then(({ session }) => ({ session }))'),
  },
  {
    doubt: 'a member that the guard does not read',
    context: create(`const session = ${getSession}\n return { session, user: await findActive(session) }`),
  },
  {
    doubt: 'a function that is passed as an option, beside a plain one,',
    context: `${CONTEXT}\nconst build = async () => ({ session: await check() })\nserve({ createContext: build })`,
  },
  {
    doubt: 'a function that an option calls, beside a plain one,',
    context: `${CONTEXT}\nconst build = async () => ({ session: await check() })\nserve({ createContext: (o) => build(o) })`,
  },
  {
    doubt: 'a spread of a method with the name of one of Sallyport',
    context: create(`const session = ${getSession}\n return { session, ...(await other.http(session)) }`),
  },
  {
    doubt: 'a wrapper',
    context: `${BETTER_AUTH}\nexport const createContext = onlyActive(async ({ headers }) => ({ session: ${getSession} }))`,
  },
  {
    doubt: 'a computed member',
    context: create(`const session = ${getSession}\n return { session, [key]: await check(session) }`),
  },
  {
    doubt: 'a call that may throw',
    context: create(`const session = ${getSession}\n requireActive(session)\n return { session }`),
  },
  { doubt: 'no such function', context: 'export {}' },
])('$doubt in the context leaves the guards, unless it is trusted', ({ context }, { expect }) => {
  const files = { 'auth.ts': BETTER_AUTH, 'context.ts': context, 'trpc.ts': GUARD }
  const { changed, left } = applyCodemod(files)
  expect(changed).toEqual({})
  expect(left).toContainEqual(expect.stringMatching(/^trpc\.ts:\d+ .*--trust-context/))
  expect(Object.keys(applyCodemod(files, { trustsContext: true }).changed)).toEqual(['trpc.ts'])
})

test('a guard of two members stays if one has no source', ({ expect }) => {
  const context = create(`return { session: ${getSession} }`)
  const guard = GUARD.replace('!ctx.session)', '!ctx.session || !ctx.user)')
  const { changed } = applyCodemod({ 'auth.ts': BETTER_AUTH, 'context.ts': context, 'trpc.ts': guard })
  expect(changed).toEqual({})
})

test.for([
  { harmless: 'a log', body: `const session = ${getSession}\n console.log(session)\n return { session }` },
  { harmless: "React's cache", body: `return { session: ${getSession} }`, isCached: true },
])('$harmless is no doubt', ({ body, isCached }, { expect }) => {
  const plain = create(body)
  const cached = plain.replace('async (', 'cache(async (').replace(/\}\n$/, '})\n')
  const context = isCached ? `import { cache } from 'react'\n${cached}` : plain
  const { changed } = applyCodemod({ 'auth.ts': BETTER_AUTH, 'context.ts': context, 'trpc.ts': GUARD })
  expect(Object.keys(changed)).toEqual(['trpc.ts'])
})

test("a spread of Sallyport's own context is no doubt", ({ expect }) => {
  const next =
    "import { createNextAuth } from '@sallyport/trpc/next'\nexport const { pageContext } = createNextAuth({})\n"
  const page =
    "import { pageContext } from './next'\nconst createPageContext = async () => createContext({ ...(await pageContext()) })\n"
  const files = { 'context.ts': CONTEXT, 'page.ts': page, 'trpc.ts': GUARD }
  expect(Object.keys(applyCodemod({ ...files, 'next.ts': next }).changed)).toEqual(['trpc.ts'])
  const other = next.replace('@sallyport/trpc/next', './other')
  expect(applyCodemod({ ...files, 'next.ts': other }).changed).toEqual({})
})

test('a context that React shares is another one', ({ expect }) => {
  const react =
    "import { createContext } from 'react'\nexport const Session = createContext({ session: guess() })\n"
  const { changed } = applyCodemod({ 'context.ts': CONTEXT, 'session.tsx': react, 'trpc.ts': GUARD })
  expect(Object.keys(changed)).toEqual(['trpc.ts'])
})

test('a file that cannot be parsed is listed', ({ expect }) => {
  const { left } = applyCodemod({ 'broken.ts': 'const ctx = ;' })
  expect(left).toEqual([expect.stringContaining("broken.ts can't be parsed")])
})
