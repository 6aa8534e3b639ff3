/** The files of the quick start, as `README.md` has them. */
export const FILES = {
  'auth.config.ts': `// auth.config.ts - light: any module may import it
import { defineAuthConfig, staticJwks } from '@sallyport/core'
const baseUrl = process.env.BASE_URL ?? 'http://localhost:3000'
export const authConfig = defineAuthConfig({ baseUrl, jwks: staticJwks(process.env.JWKS) })
`,
  'auth.ts': `// auth.ts - heavy: private keys and plugins, only for the server
import { defineAuth } from '@sallyport/core/auth'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { authConfig } from './auth.config.ts'
const signingKeys = process.env.SIGNING_KEYS
export default defineAuth({ config: authConfig, signingKeys, plugins: [emailPassword(), admin()] })
`,
  'context.ts': `// context.ts - opens the database, which creates the tables
import { createAuth } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createAuthContext, type HttpContextOptions, type WsContextOptions } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import authDefinition from './auth.ts'
export const database = await openSqlite(process.env.DATABASE_URL ?? 'file:data/app.db')
export const auth = await createAuth(authDefinition, database)
const context = createAuthContext(authConfig, { db: database.db })
export const httpContext = (options: HttpContextOptions) => ({ ...context.http(options), db: database.db })
export const wsContext = (options: WsContextOptions) => ({ ...context.ws(options), db: database.db })
export type Context = ReturnType<typeof httpContext>
`,
  'router.ts': `// router.ts
import { authErrorData, requireRole, sensitiveSessionMiddleware, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Context } from './context.ts'
const t = initTRPC.context<Context>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)
const adminProcedure = protectedProcedure.use(requireRole('admin'))
const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware) // always reads the session again
export const appRouter = t.router({
  me: protectedProcedure.query(({ ctx }) => ctx.user),
  users: adminProcedure.query(({ ctx }) => ctx.db.selectFrom('user').select(['id', 'email']).execute()),
  rotateKey: sensitiveProcedure.mutation(({ ctx }) => ({ userId: ctx.user.id, key: crypto.randomUUID() })),
})
export type AppRouter = typeof appRouter
`,
  'server.ts': `// server.ts
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { createHandler } from '@sallyport/trpc'
import { Hono } from 'hono'
import { authConfig } from './auth.config.ts'
import { auth, httpContext } from './context.ts'
import { appRouter } from './router.ts'

const app = new Hono()
const handle = createHandler({ auth, config: authConfig, router: appRouter, createContext: httpContext })
for (const path of ['/api/auth/*', '/trpc/*', '/healthz'])
  app.all(path, (c) => handle(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }))
serve({ fetch: app.fetch, port: 3000 }, ({ port }) => console.log(\`http://localhost:\${port}\`))
`,
} as const

/** tRPC's error formatter, which tells clients why a guard rejected a call. */
export const FORMATTER =
  'errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } })'

/** Returns a file with another variable and database if the app has its own `DATABASE_URL`. */
export function ownDatabase(text: string, usesDatabaseUrl: boolean): string {
  if (!usesDatabaseUrl) return text
  return text.replace(
    "process.env.DATABASE_URL ?? 'file:data/app.db'",
    "process.env.AUTH_DATABASE_URL ?? 'file:data/auth.db'",
  )
}

/** As `docs/install.md` has it. */
export const TSCONFIG = `{
  "compilerOptions": {
    "module": "nodenext",
    "target": "es2024",
    "lib": ["es2024", "dom"],
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true
  }
}
`
