import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importSpecifier } from '../../../src/cli/generate/import-specifier.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { writeApp } from '../../support/write-app.ts'

const directory = temporaryDirectory()

describe('the path goes from the generated file to the definition', () => {
  test.each([
    ['src/auth.ts', 'src/generated', '../auth.ts'],
    ['src/auth.ts', 'src', './auth.ts'],
    ['src/auth.ts', 'generated/deep', '../../src/auth.ts'],
    ['auth.ts', '.', './auth.ts'],
    ['src/auth/index.ts', 'src', './auth/index.ts'],
    ['./src/auth.config.ts', './src/generated/', '../auth.config.ts'],
  ])('%s from %s: %s', (file, from, specifier) => {
    expect(importSpecifier(file, { from, extension: 'ts' })).toBe(specifier)
  })
})

test.each([
  ['auth.ts', 'ts', '../auth.ts'],
  ['auth.ts', 'js', '../auth.js'],
  ['auth.ts', 'none', '../auth'],
  ['auth.mts', 'ts', '../auth.mts'],
  ['auth.mts', 'js', '../auth.mjs'],
  ['auth.cts', 'js', '../auth.cjs'],
  ['auth.tsx', 'js', '../auth.js'],
  ['auth.js', 'ts', '../auth.js'],
  ['auth.mjs', 'js', '../auth.mjs'],
] as const)('the ending of %s as the app writes it, %s: %s', (file, extension, specifier) => {
  expect(importSpecifier(file, { from: 'generated', extension })).toBe(specifier)
})

describe('what tsconfig.json says', () => {
  const options = (compilerOptions: object) => JSON.stringify({ compilerOptions })

  test.each([
    { says: 'nothing', files: {}, ending: '.js' },
    {
      says: 'it takes .ts',
      files: { 'tsconfig.json': options({ allowImportingTsExtensions: true }) },
      ending: '.ts',
    },
    {
      says: 'it takes and rewrites .ts',
      files: { 'tsconfig.json': options({ rewriteRelativeImportExtensions: true }) },
      ending: '.ts',
    },
    {
      says: 'it takes .ts, and rewrites nothing',
      files: {
        'tsconfig.json': options({
          rewriteRelativeImportExtensions: false,
          allowImportingTsExtensions: true,
        }),
      },
      ending: '.ts',
    },
    {
      says: 'it does not',
      files: { 'tsconfig.json': options({ allowImportingTsExtensions: false }) },
      ending: '.js',
    },
    {
      says: 'the nearest one counts',
      files: {
        'tsconfig.json': options({ allowImportingTsExtensions: true }),
        'src/tsconfig.json': options({ strict: true }),
      },
      ending: '.js',
    },
    {
      says: 'it has comments and commas that JSON has not',
      files: {
        'tsconfig.json': `{
          // "compilerOptions": {},
          /* the "old" one
             "allowImportingTsExtensions": false, */
          "include": ["src//*.ts", "a\\\\", "b,]"], // one
          "compilerOptions": { "allowImportingTsExtensions": true, },
        }`,
      },
      ending: '.ts',
    },
    {
      says: 'it extends another that does',
      files: {
        'tsconfig.json': '{ "extends": "./base.json" }',
        'base.json': options({ allowImportingTsExtensions: true }),
      },
      ending: '.ts',
    },
    {
      says: 'it extends one without its ending, that extends another',
      files: {
        'tsconfig.json': '{ "extends": "./base", "compilerOptions": {} }',
        'base.json': '{ "extends": "./deep/base.json" }',
        'deep/base.json': options({ allowImportingTsExtensions: true }),
      },
      ending: '.ts',
    },
    {
      says: 'what it says itself counts more',
      files: {
        'tsconfig.json':
          '{ "extends": "./base.json", "compilerOptions": { "allowImportingTsExtensions": false } }',
        'base.json': options({ allowImportingTsExtensions: true }),
      },
      ending: '.js',
    },
    {
      says: 'of several that it extends the last counts most',
      files: {
        'tsconfig.json': '{ "extends": ["./one.json", "./two.json"] }',
        'one.json': options({ allowImportingTsExtensions: false }),
        'two.json': options({ allowImportingTsExtensions: true }),
      },
      ending: '.ts',
    },
    {
      says: 'it extends a file of a package',
      files: {
        'tsconfig.json': '{ "extends": "kit/strict.json" }',
        'node_modules/kit/strict.json': options({ allowImportingTsExtensions: true }),
      },
      ending: '.ts',
    },
    {
      says: 'it extends a package',
      files: {
        'tsconfig.json': '{ "extends": "@kit/config" }',
        'node_modules/@kit/config/tsconfig.json': options({ allowImportingTsExtensions: true }),
      },
      ending: '.ts',
    },
    {
      says: 'it extends what is not there',
      files: { 'tsconfig.json': '{ "extends": ["./none.json", "none", "./none"] }' },
      ending: '.js',
    },
    {
      says: 'it extends itself',
      files: { 'tsconfig.json': '{ "extends": "./tsconfig.json" }' },
      ending: '.js',
    },
    { says: 'it cannot be read', files: { 'tsconfig.json': '{' }, ending: '.js' },
  ])('$says: $ending', ({ files, ending }) => {
    const root = writeApp(directory, { 'tsconfig.json': '{}', ...files, 'src/auth.ts': '' })
    mkdirSync(join(root, 'src/generated'))
    expect(importSpecifier(join(root, 'src/auth.ts'), { from: join(root, 'src/generated') })).toBe(
      `../auth${ending}`,
    )
  })

  test('it may stand in any folder above', () => {
    const root = writeApp(directory, { 'tsconfig.json': options({ allowImportingTsExtensions: true }) })
    mkdirSync(join(root, 'packages/app/src'), { recursive: true })
    writeFileSync(join(root, 'packages/app/src/auth.ts'), '')
    expect(
      importSpecifier(join(root, 'packages/app/src/auth.ts'), { from: join(root, 'packages/app') }),
    ).toBe('./src/auth.ts')
  })
})
