import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'

const PREAMBLE = `
import type { AuthDatabase } from '@sallyport/core'
import type { AuthDefinition } from '@sallyport/core/auth'
import { type AuthContext, optionalSessionMiddleware, rateLimit, requireRole, sessionMiddleware } from '@sallyport/trpc'
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
]

const directory = temporaryDirectory()

beforeAll(() => {
  // The packages of an app.
  symlinkSync(pathOf('../../../example/node_modules'), join(directory, 'node_modules'), 'junction')
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  const config = { extends: pathOf('../../../../tsconfig.base.json'), compilerOptions: { types: [] } }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ ...config, files: ['app.ts'] }))
  writeFileSync(join(directory, 'app.ts'), PREAMBLE + CASES.map(({ code }) => code).join('\n'))
})

describe.each(['typescript', 'typescript-5.9'])('compiled by %s', (compiler) => {
  test('a context that lacks a member does not compile, and the message says what to add', async () => {
    const errors = await compile(compiler)
    const firstLine = PREAMBLE.split('\n').length
    const messages = CASES.map((_case, index) => errors.get(firstLine + index) ?? '')
    const hints = messages.map((message) => [AUTH, DB, SESSION].filter((hint) => message.includes(hint)))
    expect(CASES.map(({ code }, index) => ({ code, hint: hints[index]?.join() || null }))).toEqual(CASES)
    expect([...errors.keys()]).toEqual(CASES.flatMap(({ hint }, index) => (hint ? [firstLine + index] : [])))
  })
})

/** Returns the errors of the file by line. */
async function compile(compiler: string): Promise<Map<number, string>> {
  const tsc = pathOf(`../../node_modules/${compiler}/bin/tsc`)
  const output = await new Promise<string>((resolve) => {
    const options = ['-p', directory, '--pretty', 'false']
    execFile(process.execPath, [tsc, ...options], (_error, stdout) => resolve(stdout))
  })
  const errors = output.split(/^(?=\S)/m).filter((error) => error !== '')
  return new Map(errors.map((error) => [Number(/app\.ts\((\d+),/.exec(error)?.[1]), error]))
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
