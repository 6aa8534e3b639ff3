import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { bundle } from '../../core/test/support/bundle.ts'

const source = (file: string) => new URL(`../src/${file}`, import.meta.url)
const folder = fileURLToPath(new URL('..', import.meta.url))
const sallyport = fileURLToPath(new URL('../../core/src/cli/main.ts', import.meta.url))

/** Imports at run time, without those of types. */
const IMPORTS =
  /^(?:import|export) (?!type )[^']*from '(\.[^']+)'|^import '(\.[^']+)'|\bimport\('(\.[^']+)'/gm

/** Returns a module and everything that it loads by relative imports. */
function loadedBy(file: URL, loaded: Set<string> = new Set()): Set<string> {
  if (loaded.has(file.href)) return loaded
  loaded.add(file.href)
  for (const [, from, bare, dynamic] of readFileSync(file, 'utf8').matchAll(IMPORTS))
    loadedBy(new URL(from ?? bare ?? dynamic ?? '', file), loaded)
  return loaded
}

function run(args: readonly string[], cwd: string): Promise<{ code: number; output: string }> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [sallyport, ...args],
      { cwd, env: { PATH, NODE_COMPILE_CACHE } },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    )
  })
}

/** Imports that matter for the boundary of the auth definition. */
test.each([
  ['procedures.ts', 'session.ts', true],
  ['procedures.ts', 'get-auth.ts', false],
  ['procedures.ts', 'auth.ts', false],
  ['routers/account.ts', 'auth.ts', false],
  ['routers/admin.ts', 'get-auth.ts', true],
  ['routers/gate.ts', 'auth.ts', false],
  ['routers/clock.ts', 'auth.ts', false],
  ['routers/notes.ts', 'auth.ts', false],
  ['routers/organizations.ts', 'get-auth.ts', true],
  ['routers/organization-queries.ts', 'get-auth.ts', false],
  ['routers/users.ts', 'get-auth.ts', false],
  ['routers/sessions.ts', 'authed-action.ts', true],
  ['authed-action.ts', 'get-auth.ts', true],
  ['routers/report.ts', 'authed-action.ts', true],
  ['routers/report.ts', 'database.ts', false],
  ['routers/report.ts', 'internal/router.ts', false],
  ['get-auth.ts', 'auth.ts', true],
  ['auth.config.ts', 'keys/signing-keys.ts', false],
  ['routers/app.ts', 'database.ts', false],
  ['edge.ts', 'routers/report.ts', true],
  ['edge.ts', 'database.ts', false],
  ['edge.ts', 'internal/functions.ts', false],
])('whether %s loads %s: %s', (file, other, expected) => {
  expect(loadedBy(source(file)).has(source(other).href)).toBe(expected)
})

test('only its generated module and the server import the auth definition', () => {
  const importers = [...loadedBy(source('server.ts'))].filter((file) =>
    /from '\.\.?\/auth\.ts'/.test(readFileSync(new URL(file), 'utf8').replaceAll(/^import type .*$/gm, '')),
  )
  expect(importers.sort()).toEqual([source('auth-server.ts').href, source('get-auth.ts').href])
})

/** Copies the example to a temporary folder. */
function copyExample(): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const place = join(root, 'packages/example')
  for (const name of ['src', 'package.json', 'tsconfig.json'])
    cpSync(join(folder, name), join(place, name), { recursive: true })
  cpSync(join(folder, '../../tsconfig.base.json'), join(root, 'tsconfig.base.json'))
  symlinkSync(join(folder, 'node_modules'), join(place, 'node_modules'))
  return place
}

test('sallyport doctor finds no problem', async () => {
  const { code, output } = await run(['doctor'], copyExample())
  expect(output).toMatch(/^ok +boundary +src\/procedures\.ts doesn't reach src\/auth\.ts /m)
  expect(code).toBe(0)
})

test('the module that every procedure imports contains no plugin and no auth definition', async () => {
  const { files } = await bundle(fileURLToPath(source('procedures.ts')))
  expect(files.some((file) => file.endsWith('/trpc/src/server/guard.ts'))).toBe(true)
  expect(
    files.filter((file) => /core\/src\/(plugins|endpoints|database|cli)\/|argon2|kysely/.test(file)),
  ).toEqual([])
})
