import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PREAMBLE = `
import type { AuthDatabase } from '@sallyport/core'
import type { AuthDefinition } from '@sallyport/core/auth'
import { type AuthContext, optionalSessionMiddleware, rateLimit, requireOrganizationRole, requireRole, sessionMiddleware } from '@sallyport/trpc'
import { createAuthedAction, type GetAuth, type Runner } from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'

declare const getAuth: GetAuth<AuthDefinition>
declare const runner: Runner
const { procedure: complete } = initTRPC.context<AuthContext & { db: AuthDatabase }>().create()
const { procedure: withoutAuth } = initTRPC.context<{ db: AuthDatabase }>().create()
const { procedure: withoutDb } = initTRPC.context<AuthContext>().create()
const { procedure: withOtherDb } = initTRPC.context<AuthContext & { db: { query(): void } }>().create()
`
const AUTH =
  '"Context has no auth: spread createAuthContext(...).http(options) into the object that createContext returns"'
const DB =
  '"Context has no db with an auth store: return the db of openSqlite() or openPostgres(), or withAuthStore(db, store), from createContext"'
const SESSION = '"Context has no session: put .use(sessionMiddleware) before this middleware"'
const ORGANIZATION =
  '"Session has no active organization: use the sessionMiddleware of bindSession(), and add the plugin organization()"'

const CASES = [
  { code: 'complete.use(sessionMiddleware).use(requireRole("admin"))', hint: null },
  { code: 'createAuthedAction(withoutDb, getAuth, runner)', hint: null },
  { code: 'withoutAuth.use(sessionMiddleware)', hint: AUTH },
  { code: 'withoutAuth.use(optionalSessionMiddleware)', hint: AUTH },
  { code: 'withoutAuth.use(rateLimit({ points: 1, duration: 1 }))', hint: AUTH },
  { code: 'createAuthedAction(withoutAuth, getAuth, runner)', hint: AUTH },
  { code: 'withoutDb.use(sessionMiddleware)', hint: DB },
  { code: 'withOtherDb.use(sessionMiddleware)', hint: DB },
  { code: 'createAuthedAction(withOtherDb, getAuth, runner)', hint: DB },
  { code: 'complete.use(requireRole("admin"))', hint: SESSION },
  { code: 'complete.use(optionalSessionMiddleware).use(requireRole("admin"))', hint: SESSION },
  { code: 'complete.use(requireOrganizationRole("owner"))', hint: SESSION },
  { code: 'complete.use(sessionMiddleware).use(requireOrganizationRole("owner"))', hint: ORGANIZATION },
]

/**
 * Compiles middlewares on contexts that lack a member. Asserts that these alone don't compile, and that the
 * message says what to add.
 */
export function checkWrongContexts(
  tsc: string,
  {
    folder,
    config,
    flags = [],
  }: { readonly folder: string; readonly config: object; readonly flags?: readonly string[] },
): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, files: ['app.ts'] }))
  writeFileSync(join(folder, 'app.ts'), PREAMBLE + CASES.map(({ code }) => code).join('\n'))
  const errors = compile([tsc, '-p', folder, '--pretty', 'false', ...flags], folder)
  const firstLine = PREAMBLE.split('\n').length
  const messages = CASES.map((_case, index) => errors.get(firstLine + index) ?? '')
  const hints = messages.map((message) =>
    [AUTH, DB, SESSION, ORGANIZATION].filter((hint) => message.includes(hint)),
  )
  assert.deepEqual(
    CASES.map(({ code }, index) => ({ code, hint: hints[index]?.join() || null })),
    CASES,
  )
  assert.deepEqual(
    [...errors.keys()],
    CASES.flatMap(({ hint }, index) => (hint ? [firstLine + index] : [])),
  )
}

/** Returns the errors of the file by line. */
function compile(args: readonly string[], folder: string): Map<number, string> {
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  const errors = stdout.split(/^(?=\S)/m).filter((error) => error !== '')
  return new Map(errors.map((error) => [Number(/app\.ts\((\d+),/.exec(error)?.[1]), error]))
}
