import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'

const OWN_DEFINITION = `
import { type AuthEvent, defineAuthConfig, staticJwks } from '@sallyport/core'
import { type AuthPlugin, createAuth, defineAuth } from '@sallyport/core/auth'
import { anonymous } from '@sallyport/core/plugins/anonymous'
import { openTelemetry } from '@sallyport/core/plugins/open-telemetry'
import { organization } from '@sallyport/core/plugins/organization'
import { openSqlite } from '@sallyport/core/sqlite'
import { bindSession, createSensitiveSessionMiddleware, requireOrganizationRole, requireRole } from '@sallyport/trpc'
import { createAuthRuntime } from '@sallyport/trpc/action'

export const telemetry = openTelemetry()
const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: staticJwks(''), telemetry })
export const isBan = (event: AuthEvent) => event.type === 'user.banned'
export const isListed = (event: AuthEvent) => event.type === 'admin.users-listed'
export const isRevoked = (event: AuthEvent) => event.type === 'session.revoked'
export const withLabel = (event: AuthEvent) => ({ ...event, label: '' })
export const tickets = () =>
  ({
    id: 'tickets',
    canSignIn: async (userId, db) => userId === '' && db.isTransaction,
    async onChange(event, trx, record) {},
  }) satisfies AuthPlugin
export const definition = defineAuth({ config, signingKeys: '', plugins: [organization(), anonymous(), tickets()] })
export const auth = createAuth(definition, () => openSqlite(':memory:'), { name: 'app' })
export const { getAuth } = createAuthRuntime(() => definition)
export const { getSession, sessionMiddleware } = bindSession<typeof definition>()
export const freshMiddleware = createSensitiveSessionMiddleware({ maxAge: 60 })
export const adminMiddleware = requireRole('admin')
export const ownerMiddleware = requireOrganizationRole('owner')
`
const OWN_PROCEDURES = `
import { type DatabaseContext, requireRole } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { sessionMiddleware } from './auth.ts'

const t = initTRPC.context<DatabaseContext>().create()
export const protectedProcedure = t.procedure.use(sessionMiddleware)
export const adminProcedure = protectedProcedure.use(requireRole('admin'))
export const appRouter = t.router({ session: protectedProcedure.query(({ ctx }) => ctx.session) })
`
const GUARD = `
import { type AuthContext, bindSession, type HttpContextOptions } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { betterAuth } from 'better-auth'
import { admin, organization } from 'better-auth/plugins'

export const guard = betterAuthGuard(betterAuth({ plugins: [admin(), organization()] }))
export const apiOf = (ctx: AuthContext) => guard.getAuth(ctx).api
const db = guard.attach({ query: async (sql: string) => sql })
export const httpContext = (o: HttpContextOptions) => ({ ...guard.http(o), db })
export const bound = bindSession<typeof guard>()
export const { sessionMiddleware, requirePermission, requireOrganizationPermission, forbidImpersonation } = bound
`
const PROCEDURES = `
import { requireRole } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { forbidImpersonation, type httpContext, requirePermission, sessionMiddleware } from './guard.ts'

const t = initTRPC.context<ReturnType<typeof httpContext>>().create()
export const protectedProcedure = t.procedure.use(sessionMiddleware).use(forbidImpersonation)
export const adminProcedure = protectedProcedure.use(requireRole('admin'))
export const projectProcedure = protectedProcedure.use(requirePermission({ project: ['create'] }))
export const appRouter = t.router({ session: protectedProcedure.query(({ ctx }) => ctx.session) })
`

const { errors, read } = emitDeclarations({
  'auth.ts': OWN_DEFINITION,
  'own-procedures.ts': OWN_PROCEDURES,
  'guard.ts': GUARD,
  'procedures.ts': PROCEDURES,
})

test('an app that emits declarations may export what the guides declare, with Better Auth too', () => {
  expect(errors).toBe('')
})

// Otherwise, a large router exceeds what the compiler writes (TS7056), and editors don't show the columns.
test('declarations of procedures have the columns of plugins, but not the plugins', () => {
  expect(read('own-procedures.d.ts')).toContain('isAnonymous')
  expect(read('own-procedures.d.ts')).not.toMatch(/AuthDefinition|AuthPlugin/)
})

test('declarations of procedures have no type of the options of Better Auth', () => {
  expect(read('procedures.d.ts')).toContain('impersonatedBy')
  expect(read('procedures.d.ts')).not.toContain('better-auth')
})

/** Compiles an app like a package of a monorepo. As with pnpm, it can't import our dependencies. */
function emitDeclarations(files: Readonly<Record<string, string>>) {
  const folder = temporaryDirectory()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const name of ['@sallyport/core', '@sallyport/trpc', '@trpc/server', 'better-auth']) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    const from = name === '@sallyport/trpc' ? '../..' : `../../node_modules/${name}`
    symlinkSync(fileURLToPath(new URL(from, import.meta.url)), link, 'junction')
  }
  const compilerOptions = { composite: true, noEmit: false, emitDeclarationOnly: true, types: [] }
  const config = {
    extends: fileURLToPath(new URL('../../../../tsconfig.base.json', import.meta.url)),
    compilerOptions: { ...compilerOptions, rootDir: '.', outDir: 'out' },
    files: Object.keys(files),
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const args = [tsc, '-p', folder, '--pretty', 'false', '--singleThreaded']
  const { stdout: errors } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  return { errors, read: (name: string) => readFileSync(join(folder, 'out', name), 'utf8') }
}
