import { execFileSync } from 'node:child_process'
import { cpSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { recordConnections, watchCopies } from '../../../../src/database/sqlite/connections/copies.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const script = fileURLToPath(new URL('../../../fixtures/open-two-libraries.ts', import.meta.url))
const isLinux = process.platform === 'linux'
const SECOND_COPY = /^ConfigurationError: .*second copy of SQLite.*\{ client \}/
/** `pnpm test:databases` runs all. The native code of `@libsql/client` is that of libsql. */
const IS_LONG = process.env.DATABASES === 'all'
const APPS = IS_LONG ? ['libsql', 'node:sqlite', '@libsql/client'] : ['libsql']
const OPENERS = IS_LONG ? APPS : ['libsql', 'node:sqlite']
const MODES = IS_LONG ? ['delete', 'wal'] : ['wal']
let files = 0

interface Scene {
  readonly app?: string
  readonly store: string
  readonly mode?: string
  readonly loaded?: string
  readonly late?: string
  readonly platform?: string
  readonly copy?: string
}

/** Opens a file with the app's library, then a store, in another process. Returns what it prints. */
function openBoth({ app, mode = 'delete', ...scene }: Scene): string {
  const path = join(directory, `${files++}.db`)
  const text = JSON.stringify({ path, app: app ?? null, mode, ...scene })
  return execFileSync(process.execPath, [script, text], { encoding: 'utf8', timeout: 55_000 })
}

test.runIf(isLinux).each(OPENERS.flatMap((app) => MODES.map((mode) => ({ app, mode }))))(
  'opening by its URL a file that $app has open, in $mode mode, says to pass the client',
  ({ app, mode }) => {
    expect(openBoth({ app, store: 'URL', mode })).toMatch(SECOND_COPY)
  },
)

test.each([...APPS, 'better-sqlite3'])("opening a file with the app's client of %s is right", (app) => {
  for (const mode of MODES) expect(openBoth({ app, store: app, mode })).toBe('opened\n')
})

test('opening by its URL a file that better-sqlite3 has open is right, also if it has others open', () => {
  for (const mode of MODES)
    expect(openBoth({ app: 'better-sqlite3', store: 'URL', loaded: 'better-sqlite3', mode })).toBe('opened\n')
})

test('opening by its URL a file is right while another library has only another file open', () => {
  expect(openBoth({ app: 'libsql', store: 'URL of another file' })).toBe('opened\n')
  expect(openBoth({ app: 'better-sqlite3', store: 'URL', loaded: 'libsql', mode: 'wal' })).toBe('opened\n')
})

const LONG_PAIRS: [app: string, store: string][] = [
  ['better-sqlite3', 'libsql'],
  ['better-sqlite3', '@libsql/client'],
  ['node:sqlite', 'libsql'],
]

test
  .runIf(isLinux)
  .each([['better-sqlite3', 'node:sqlite'], ['libsql', 'better-sqlite3'], ...(IS_LONG ? LONG_PAIRS : [])])(
  'in WAL mode, a file that %s has open is rejected with a client of %s',
  (app, store) => {
    expect(openBoth({ app, store, mode: 'wal' })).toMatch(SECOND_COPY)
  },
)

test('a file that a store has open is rejected with a client of another library', () => {
  expect(openBoth({ app: 'store by URL', store: 'node:sqlite' })).toMatch(
    /^ConfigurationError: .*better-sqlite3 has/,
  )
})

describe.runIf(isLinux)('while better-sqlite3 has another file open', () => {
  const loaded = 'better-sqlite3'

  test.each(APPS)('a file that %s has open is rejected in WAL mode, and reported in others', (app) => {
    expect(openBoth({ app, store: 'URL', loaded, mode: 'wal' })).toMatch(SECOND_COPY)
    expect(openBoth({ app, store: 'URL', loaded })).toMatch(
      /^sallyport: This process has loaded \S*sql\S* beside better-sqlite3\. If it opens .*\{ client \}\.\nopened/,
    )
  })
})

describe.runIf(isLinux)('with two versions of better-sqlite3', () => {
  const copy = join(directory, 'node_modules/better-sqlite3')
  const installed = realpathSync(new URL('../../../../node_modules/better-sqlite3', import.meta.url))
  const isUnused = (path: string) =>
    /deps|src|\.node$/.test(path.slice(installed.length)) &&
    !path.endsWith(`${process.platform}-${process.arch}.node`)
  cpSync(installed, copy, { recursive: true, filter: (path) => !isUnused(path) })
  const app = 'copy of better-sqlite3'

  test.each(['delete', 'wal'])(
    'a file that the other has open, in %s mode, says to pass the client',
    (mode) => {
      expect(openBoth({ app, store: 'URL', copy, mode })).toMatch(SECOND_COPY)
    },
  )

  test('its client, and a file that only ours has open, are right', () => {
    expect(openBoth({ app, store: app, copy })).toBe('opened\n')
    for (const mode of MODES)
      expect(openBoth({ app: 'better-sqlite3', store: 'better-sqlite3', loaded: app, copy, mode })).toBe(
        'opened\n',
      )
  })
})

describe.runIf(isLinux)('a library that opens the file after the store', () => {
  test.each(APPS)('%s is reported within an hour', (late) => {
    expect(openBoth({ store: 'URL', late, mode: 'wal' })).toMatch(
      /^opened\nsallyport: \S+ has \S+ open in this process beside better-sqlite3, so writes are lost\. .*\{ client \}\.\n$/,
    )
  })

  test('better-sqlite3 is reported if the store has libsql', () => {
    expect(openBoth({ app: 'libsql', store: 'libsql', late: 'better-sqlite3' })).toMatch(
      /^opened\nsallyport: This process has loaded better-sqlite3 beside libsql\. If it opens/,
    )
  })

  test('better-sqlite3 is right if the store has it', () => {
    expect(openBoth({ store: 'URL', late: 'better-sqlite3', mode: 'wal' })).toBe('opened\n')
  })
})

test('elsewhere than on Linux, another library that this process has loaded is a warning', () => {
  const scene = { app: 'better-sqlite3', store: 'better-sqlite3', mode: 'wal', platform: 'darwin' }
  expect(openBoth({ ...scene, loaded: 'libsql' })).toMatch(
    /^sallyport: This process has loaded libsql beside better-sqlite3\. If it opens .*\{ client \}\.\nopened\n$/,
  )
  expect(openBoth(scene)).toBe('opened\n')
})

test('a file that a store has open is rejected on every platform', () => {
  const path = join(directory, 'recorded.db')
  writeFileSync(path, '')
  const file = { path, wasLoaded: true } as const
  const forget = recordConnections({ ...file, library: 'better-sqlite3' }, 3)
  expect(() => watchCopies({ ...file, library: 'libsql' })).toThrow('better-sqlite3 has')
  forget()
  expect(() => watchCopies({ ...file, library: 'libsql' })).not.toThrow()
})
