import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test as sequential } from 'vitest'
import { runSallyport } from '../../../core/test/support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { linkedApp } from './linked-app.ts'

// Every run is a process: as many as there are processors run side by side.
const test = sequential.concurrent
const PATIENT = { timeout: 60_000 }

const directory = temporaryDirectory()
const workspace = fileURLToPath(new URL('../../../..', import.meta.url))

/** An app whose definition imports what is bound to it. */
const APP: Readonly<Record<string, string>> = {
  'tsconfig.json': JSON.stringify({
    extends: join(workspace, 'tsconfig.base.json'),
    compilerOptions: { rootDir: '/' },
    include: ['src'],
  }),
  'src/auth.config.ts': `
    import { defineAuthConfig, staticJwks } from '@sallyport/core'
    import { createSigningKey } from '@sallyport/core/internal/auth'
    import { parseSigningKeys } from '@sallyport/core/auth'

    export const signingKeys = parseSigningKeys({ keys: [await createSigningKey()] })
    export const authConfig = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: staticJwks(signingKeys.publicJwks) })`,
  'src/auth.ts': `
    import { defineAuth } from '@sallyport/core/auth'
    import { emailPassword } from '@sallyport/core/plugins/email-password'
    import * as z from 'zod'
    import { authConfig, signingKeys } from './auth.config.ts'
    import { getAuth } from './get-auth.ts'
    import { type Session, sessionMiddleware } from './session.ts'

    export const told: string[] = []
    export default defineAuth({
      config: authConfig,
      signingKeys,
      plugins: [
        emailPassword({
          async sendEmail({ to }) {
            told.push(to, typeof sessionMiddleware)
            if (to.endsWith('@example.com')) return
            const auth: ReturnType<typeof getAuth> = getAuth({} as never)
            const { session }: { session: Pick<Session, 'theme'> } = await auth.api.getSession()
            told.push(session.theme ?? 'none')
          },
        }),
      ],
      user: { additionalFields: { locale: { schema: z.string(), default: 'en' } } },
      session: { additionalFields: { theme: { schema: z.string().nullable() } } },
      hooks: {
        async onChange({ type }) {
          told.push(type, typeof getAuth)
        },
      },
    })`,
  'src/get-auth.ts': `
    import { createAuthRuntime } from '@sallyport/trpc/action'
    import authDefinition from './auth.ts'

    export const { getAuth } = createAuthRuntime(() => authDefinition)`,
  'src/session.ts': `
    import type { SessionOf } from '@sallyport/core/auth'
    import { bindSession } from '@sallyport/trpc'
    import type authDefinition from './auth.ts'

    export const { createSensitiveSessionMiddleware, getSession, sessionMiddleware } = bindSession<typeof authDefinition>()
    export type Session = SessionOf<typeof authDefinition>`,
  'src/database.ts': `
    import { openSqlite } from '@sallyport/core/sqlite'
    import { type AuthTables, authColumns } from './generated/database.ts'

    export const database = await openSqlite<AuthTables>(':memory:', { columns: authColumns })`,
  'src/procedures.ts': `
    import { createAuthContext } from '@sallyport/trpc'
    import { initTRPC } from '@trpc/server'
    import { authConfig } from './auth.config.ts'
    import { database } from './database.ts'
    import { createSensitiveSessionMiddleware, sessionMiddleware } from './session.ts'

    const auth = createAuthContext(authConfig)
    export const contextOf = (req: Request) =>
      ({ ...auth.http({ req, info: { type: 'mutation', accept: null } }), db: database.db })
    const t = initTRPC.context<ReturnType<typeof contextOf>>().create()
    export const { router, createCallerFactory } = t
    export const protectedProcedure = t.procedure.use(sessionMiddleware)
    export const freshProcedure = t.procedure.use(createSensitiveSessionMiddleware({ maxAge: 60 }))`,
  'src/router.ts': `
    import { assertGuarded } from '@sallyport/trpc'
    import { getAuth } from './get-auth.ts'
    import { getSession } from './session.ts'
    import { freshProcedure, protectedProcedure, router } from './procedures.ts'

    export const appRouter = router({
      me: protectedProcedure.query(({ ctx }) => ({ locale: ctx.user.locale, theme: ctx.session.theme })),
      asked: protectedProcedure.query(async ({ ctx }) => (await getSession(ctx)).user.locale),
      rows: protectedProcedure.query(({ ctx }) => ctx.db.selectFrom('session').select(['theme', 'userId']).execute()),
      sessions: freshProcedure.mutation(async ({ ctx }) => (await getAuth(ctx).api.listSessions()).sessions.length),
    })
    assertGuarded(appRouter, { public: [] })`,
  'src/main.ts': `
    import { createAuth } from '@sallyport/core/auth'
    import definition, { told } from './auth.ts'
    import { database } from './database.ts'
    import { contextOf, createCallerFactory } from './procedures.ts'
    import { appRouter } from './router.ts'

    const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
    const request = new Request('http://localhost:3000/trpc/me', { headers: { 'sec-fetch-site': 'same-origin' } })
    const signedUp = await auth.api.signUpEmail({ name: 'Ada', email: 'ada@example.com', password: 'correct horse battery', request })
    const cookie = signedUp.headers.getSetCookie().map((each) => each.split(';')[0]).join('; ')
    await database.db.updateTable('session').set({ theme: 'dark' }).execute()
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const caller = createCallerFactory(appRouter)(contextOf(new Request(request.url, { method: 'POST', headers })))
    const [row] = await caller.rows()
    const answers = { ...(await caller.me()), asked: await caller.asked(), row: row?.theme, sessions: await caller.sessions() }
    // The email is sent after the answer.
    while (!told.includes('ada@example.com')) await new Promise((resolve) => setTimeout(resolve, 10))
    console.log(JSON.stringify({ ...answers, told }))
    await database.close()`,
  'src/definition-first.ts': `import './auth.ts'\nimport './main.ts'`,
  'src/runtime-first.ts': `import './get-auth.ts'\nimport './main.ts'`,
}

interface Run {
  readonly code: unknown
  readonly stdout: string
  readonly stderr: string
}

function run(...args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr })
    })
  })
}

async function generatedApp(files: Readonly<Record<string, string>>): Promise<string> {
  const root = linkedApp(directory, files)
  const { code, stderr } = await runSallyport(['generate'], { cwd: root })
  if (code !== 0) throw new Error(stderr)
  return root
}

describe('what is bound to a definition that imports it', async () => {
  const root = await generatedApp(APP)

  test.for(['definition-first', 'runtime-first'])(
    'runs, whichever is loaded first: %s',
    PATIENT,
    async (entry, { expect }) => {
      const { code, stdout, stderr } = await run(join(root, 'src', `${entry}.ts`))
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(JSON.parse(stdout)).toEqual({
        locale: 'en',
        theme: 'dark',
        asked: 'en',
        row: 'dark',
        sessions: 1,
        told: expect.arrayContaining(['session.created', 'ada@example.com', 'function']),
      })
    },
  )

  test('compiles, though the types go in a circle too', PATIENT, async ({ expect }) => {
    const compiler = join(workspace, 'node_modules/typescript/bin/tsc')
    // Each further checker repeats work of the others, on processors that other tests need.
    expect(await run(compiler, '-p', root, '--checkers', '1')).toEqual({ code: 0, stdout: '', stderr: '' })
  })
})
