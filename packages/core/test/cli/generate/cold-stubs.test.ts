import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isConfigurationError } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { authFile } from '../../../src/cli/generate/auth-file.ts'
import { coldStubs } from '../../../src/cli/generate/cold-stubs.ts'
import { databaseFile } from '../../../src/cli/generate/database-file.ts'
import { writeFiles } from '../../../src/cli/generate/generated-files.ts'
import { sessionFile } from '../../../src/cli/generate/session-file.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const stubs = coldStubs("it's missing")
const real = {
  'auth.ts': authFile('../auth.ts'),
  'session.ts': sessionFile('../auth.ts'),
  'database.ts': databaseFile({ user: {}, session: {} }, {}),
}
writeFiles(directory, stubs)
const load = (name: string) => import(pathToFileURL(join(directory, name)).href)

/** The names that a file exports, of types and of values. */
function exportsOf(text: string): string[] {
  const declared = [...text.matchAll(/^export (?:async )?(?:const|function|type) (\w+)/gm)].map(
    ([, name]) => name,
  )
  const taken = [...text.matchAll(/^export const \{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.match(/\w+/g),
  )
  return [...declared, ...taken].map((name) => name ?? '').sort()
}

describe.each(['auth.ts', 'session.ts', 'database.ts'] as const)('the stub of %s', (name) => {
  test('has the names of the real file', () => {
    expect(exportsOf(stubs[name])).toEqual(exportsOf(real[name]))
    expect(exportsOf(stubs[name])).not.toEqual([])
  })

  test('imports nothing, not even types', () => {
    expect(stubs[name]).not.toMatch(/\bimport\b|\bfrom '|\brequire\b/)
    expect(real[name]).toMatch(/\bimport\b/)
  })
})

describe('what is called throws an error that says what is missing and what to do', () => {
  test.each([
    ['getAuth', async () => (await load('auth.ts')).getAuth({})],
    ['getSession', async () => (await load('session.ts')).getSession({})],
    ['sessionMiddleware', async () => (await load('session.ts')).sessionMiddleware({})],
    ['optionalSessionMiddleware', async () => (await load('session.ts')).optionalSessionMiddleware({})],
    ['sensitiveSessionMiddleware', async () => (await load('session.ts')).sensitiveSessionMiddleware({})],
    [
      'createSensitiveSessionMiddleware',
      async () => (await load('session.ts')).createSensitiveSessionMiddleware({ maxAge: 1 })({}),
    ],
  ])('%s', async (name, call) => {
    const error = await call().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(Error)
    expect(isConfigurationError(error)).toBe(true)
    expect(error).toMatchObject({
      name: 'ConfigurationError',
      code: 'DEFINITION_MISSING',
      message: `${name}: it's missing: its default export has to be what defineAuth() returns; then run "sallyport generate"`,
    })
  })
})

test('a middleware with options is made without throwing, since procedures are built when modules are loaded', async () => {
  const { createSensitiveSessionMiddleware } = await load('session.ts')
  expect(createSensitiveSessionMiddleware({ maxAge: 60 })).toBeTypeOf('function')
})

test('its middlewares count as guards: they let nobody in', async () => {
  const session = await load('session.ts')
  const guard = Symbol.for('sallyport.guard')
  for (const name of ['sessionMiddleware', 'optionalSessionMiddleware', 'sensitiveSessionMiddleware'])
    expect(guard in session[name]).toBe(true)
  expect(guard in session.createSensitiveSessionMiddleware({ maxAge: 60 })).toBe(true)
})

test('a database is opened without columns besides ours', async () => {
  expect((await load('database.ts')).authColumns).toEqual({ user: {}, session: {} })
})
