import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isConfigurationError } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { generateFiles } from '../../../src/cli/generate/generate-files.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { writeApp } from '../../support/write-app.ts'

const directory = temporaryDirectory()

/** Generates from a definition with this text; null is none. */
function generateFrom(module: string | null) {
  const root = writeApp(directory, { 'src/auth.ts': module, 'src/other.ts': 'export const other = 1' })
  const options = { auth: join(root, 'src/auth.ts'), out: join(root, 'src/generated') }
  return { ...options, generated: generateFiles(options), left: () => readdirSync(join(root, 'src')).sort() }
}

describe('a definition that cannot be loaded is refused, and nothing is left behind', () => {
  test.each([
    {
      fault: 'it throws',
      module: `throw new Error('no keys')`,
      told: /auth\.ts could not be loaded: Error: no keys\n/,
    },
    {
      fault: 'it throws no error',
      module: `throw 'no keys'`,
      told: /auth\.ts could not be loaded: no keys$/,
    },
    {
      fault: 'it imports what is not there',
      module: `import './none.ts'`,
      told: /auth\.ts could not be loaded: .*none\.ts/,
    },
    {
      fault: 'it exports something else',
      module: 'export default { config: {} }',
      told: /auth\.ts: the default export is no auth definition, as defineAuth\(\) returns it$/,
    },
    {
      fault: 'it exports null',
      module: 'export default null',
      told: /auth\.ts: the default export is no auth definition/,
    },
    {
      fault: 'it calls what is not bound yet',
      module: `import { getAuth } from './generated/auth.ts'\ngetAuth({})`,
      told: /auth\.ts could not be loaded: getAuth: .*auth\.ts is still being loaded: /,
    },
  ])('$fault', async ({ module, told }) => {
    const { generated, left } = generateFrom(module)
    const error = await generated.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(isConfigurationError(error)).toBe(true)
    expect(error).toHaveProperty('message', expect.stringMatching(told))
    expect(left()).toEqual(['auth.ts', 'other.ts'])
  })

  test('a migration fails', async () => {
    const migrations = `{ async '1'() { throw new Error('no such table') } }`
    const { generated, left } = generateFrom(
      `export default { plugins: [{ id: 'a', migrations: ${migrations} }] }`,
    )
    await expect(generated).rejects.toThrow('no such table')
    expect(left()).toEqual(['auth.ts', 'other.ts'])
  })
})

describe('the files are made and not written', () => {
  test.each([
    ['of a definition', `export default { plugins: [] }`, null],
    ['of none', null, 'auth.ts does not exist'],
    ['of a module without a default export', 'export const auth = 1', 'auth.ts has no default export'],
    [
      'of a module whose default export is nothing yet',
      'export default undefined',
      'auth.ts has no default export',
    ],
  ])('%s', async (_, module, missing) => {
    const { generated, out } = generateFrom(module)
    const { files, ...rest } = await generated
    expect(rest.missing).toEqual(missing === null ? null : expect.stringContaining(missing))
    expect(Object.keys(files)).toEqual(['auth.ts', 'session.ts', 'database.ts'])
    expect(files['auth.ts'].includes('throw')).toBe(missing !== null)
    expect(existsSync(out)).toBe(false)
  })
})

test('the same definition makes the same files, to the byte', async () => {
  const module = `export default { plugins: [{ id: 'app', userColumns: { a: {}, b: { type: 'flag' } } }] }`
  const [one, two] = await Promise.all([generateFrom(module).generated, generateFrom(module).generated])
  expect(two).toEqual(one)
})
