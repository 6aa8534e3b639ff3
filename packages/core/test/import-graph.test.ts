import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../src', import.meta.url))

/**
 * What a file imports when it runs. `import type` is gone by then; `import { type A }` is not, since the import itself stays
 * (`verbatimModuleSyntax`).
 */
function importsOf(source: string): string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  const statements = code.matchAll(/^(?:import|export)\s(?!type\s)(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)
  const calls = code.matchAll(/\b(?:import|require)\s*\(\s*['"`]([^'"`]+)['"`]/g)
  return [...statements, ...calls].map(([, specifier = '']) => specifier)
}

/** The files that an entry reaches, and the packages they import. */
function reachableFrom(entry: string): { files: string[]; packages: string[] } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    for (const specifier of importsOf(readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.')) visit(join(dirname(file), specifier))
      else packages.add(specifier)
    }
  }
  visit(join(root, entry))
  return { files: [...files].map((file) => relative(root, file)).sort(), packages: [...packages].sort() }
}

describe('the imports of a source file', () => {
  test.each([
    ["import { a } from './a.ts'", ['./a.ts']],
    ["import a, { b } from 'a'", ['a']],
    ["import * as a from 'a'", ['a']],
    ["import 'a'", ['a']],
    ["import {\n  a,\n  type B,\n} from './a.ts'", ['./a.ts']],
    ["import { type A } from './a.ts'", ['./a.ts']],
    ["export { a } from './a.ts'", ['./a.ts']],
    ["export * from './a.ts'", ['./a.ts']],
    ["const a = await import('a')", ['a']],
    ["import type { A } from './a.ts'", []],
    ["export type { A } from './a.ts'", []],
    ["// import { a } from './a.ts'", []],
    ["/*\nimport { a } from './a.ts'\n*/", []],
    ["export const a = 'from'\nconst b = 'x'", []],
  ])('%j', (source, imports) => {
    expect(importsOf(source)).toEqual(imports)
  })
})

test('protocol.ts, which browsers load, imports nothing', () => {
  expect(reachableFrom('protocol.ts')).toEqual({ files: ['protocol.ts'], packages: [] })
})

test('the light entry runs on the edge: it reaches these packages and no node:*, no driver, no query builder, no schemas', () => {
  expect(reachableFrom('index.ts').packages).toEqual(['cookie', 'jose'])
})

test('service calls run on the edge too', () => {
  expect(reachableFrom('service.ts').packages).toEqual(['jose'])
})

test('the address of a client is read without Node too, and for that alone two more packages are loaded', () => {
  expect(reachableFrom('request/address.ts').packages).toEqual(['@fastify/proxy-addr', 'ipaddr.js'])
  expect(reachableFrom('index.ts').files).not.toContain('request/address.ts')
})

test('the light entry never carries the auth definition', () => {
  const { files } = reachableFrom('index.ts')
  expect(files).toContain('session/authenticate.ts')
  expect(
    files.filter((file) =>
      /^(auth|definition|plugins|sqlite|testing)\.ts$|^(endpoints|plugins|database|cli|testing)\//.test(file),
    ),
  ).toEqual([])
  expect(files).not.toContain('keys/signing-keys.ts')
})

test.each([
  ['auth.ts', 'better-sqlite3'],
  ['plugins.ts', 'better-sqlite3'],
  ['auth.ts', '@node-rs/argon2'],
])('%s does not load %s', (entry, name) => {
  expect(reachableFrom(entry).packages).not.toContain(name)
})

test('the walk sees what is there', () => {
  expect(reachableFrom('sqlite.ts').packages).toEqual(
    expect.arrayContaining(['better-sqlite3', 'kysely', 'node:fs']),
  )
  expect(reachableFrom('cli/main.ts').packages).toContain('better-sqlite3')
})
