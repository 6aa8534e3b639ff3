import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** Returns Bun's binary. The package `bun` replaces its own with one only if its install script may run. */
function bunBinary(): string {
  const ofBun = createRequire(createRequire(import.meta.url).resolve('bun/package.json'))
  const name = `@oven/bun-${process.platform}-${process.arch}`
  return join(dirname(ofBun.resolve(`${name}/package.json`)), 'bin', 'bun')
}

test('signs in and revokes under Bun, with a client of bun:sqlite', () => {
  const script = fileURLToPath(new URL('../../fixtures/use-bun-sqlite.ts', import.meta.url))
  const path = join(temporaryDirectory(), 'app.db')
  expect(execFileSync(bunBinary(), [script, path], { encoding: 'utf8', timeout: 55_000 })).toBe('done\n')
  expect(readFileSync(path, 'latin1').slice(0, 15)).toBe('SQLite format 3')
})

test('the command line runs under Bun', () => {
  const cli = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
  const args = [cli, 'keys', 'create', '-f', join(temporaryDirectory(), 'keys.json'), '--create']
  expect(execFileSync(bunBinary(), args, { encoding: 'utf8' })).toMatch(/ active .* signs\n$/)
})
