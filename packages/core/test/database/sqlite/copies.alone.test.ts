import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { recordConnections, requireOneCopy } from '../../../src/database/sqlite/copies.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const script = fileURLToPath(new URL('../../fixtures/open-two-libraries.ts', import.meta.url))
let files = 0

/** Opens a file with the app's library, then a store, in another process. Returns what the store says. */
function openBoth(app: string, store: string, mode = 'delete'): string {
  const path = join(directory, `${files++}.db`)
  return execFileSync(process.execPath, [script, path, app, store, mode], {
    encoding: 'utf8',
    timeout: 30_000,
  })
}

test.runIf(process.platform === 'linux').each([
  ['libsql', 'delete'],
  ['libsql', 'wal'],
  ['node:sqlite', 'delete'],
  ['node:sqlite', 'wal'],
  ['@libsql/client', 'delete'],
  ['@libsql/client', 'wal'],
  ['another version of better-sqlite3', 'delete'],
  ['another version of better-sqlite3', 'wal'],
])('opening by its URL a file that %s has open, in %s mode, says to pass the client', (app, mode) => {
  expect(openBoth(app, 'URL', mode)).toMatch(/^ConfigurationError: .*second copy of SQLite.*\{ client \}/)
})

test.each(['libsql', 'node:sqlite', '@libsql/client', 'better-sqlite3'])(
  "opening a file with the app's client of %s is right",
  (app) => {
    for (const mode of ['delete', 'wal']) expect(openBoth(app, app, mode)).toBe('opened\n')
  },
)

test('opening by its URL a file that better-sqlite3 has open is right', () => {
  expect(openBoth('better-sqlite3', 'URL')).toBe('opened\n')
})

test('opening by its URL a file is right while another library has only another file open', () => {
  expect(openBoth('libsql', 'URL of another file')).toBe('opened\n')
})

test.runIf(process.platform === 'linux').each([
  ['better-sqlite3', 'libsql'],
  ['better-sqlite3', 'node:sqlite'],
  ['better-sqlite3', '@libsql/client'],
  ['node:sqlite', 'libsql'],
  ['libsql', 'better-sqlite3'],
  ['another version of better-sqlite3', 'better-sqlite3'],
])('in WAL mode, a file that %s has open is rejected with a client of %s', (app, store) => {
  expect(openBoth(app, store, 'wal')).toMatch(/^ConfigurationError: .*second copy of SQLite/)
})

test('a file that a store has open is rejected with a client of another library', () => {
  expect(openBoth('store by URL', 'node:sqlite')).toMatch(/^ConfigurationError: .*better-sqlite3 has/)
})

test('a file that a store has open is rejected on every platform', () => {
  const path = join(directory, 'recorded.db')
  writeFileSync(path, '')
  const forget = recordConnections({ path, library: 'better-sqlite3' }, 3)
  expect(() => requireOneCopy({ path, library: 'libsql' })).toThrow('better-sqlite3 has')
  forget()
  expect(() => requireOneCopy({ path, library: 'libsql' })).not.toThrow()
})
