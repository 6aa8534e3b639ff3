import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { bundleSize } from '../../../src/cli/doctor/bundle-size.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { fakePackage, writeApp } from '../../support/write-app.ts'

const directory = temporaryDirectory()
/** A text that does not become smaller. */
const HEAVY = Array.from({ length: 300 }, () => crypto.randomUUID()).join('')

/** The size of a module with these lines, beside which there is a heavy module, alone and as a package. */
function sizeOf(code: string) {
  const root = writeApp(directory, {
    'src/main.ts': `export const main = 1\n${code}`,
    'src/heavy.ts': `export const heavy = '${HEAVY}'\nexport type Heavy = typeof heavy`,
    'src/later.ts': `export { heavy } from './heavy.ts'\nexport const later = 1`,
    ...fakePackage('published', {
      '.': `export const heavy = '${HEAVY}'`,
      './native': `export const heavy = '${HEAVY}'`,
    }),
    ...fakePackage('better-sqlite3', { '.': `export const heavy = '${HEAVY}'` }),
    'node_modules/workspace/package.json': '{ "type": "module", "exports": "./src/index.ts" }',
    'node_modules/workspace/src/index.ts': `export const heavy: string = '${HEAVY}'`,
    'node_modules/old/package.json': '{ "main": "./lib/main.js" }',
    'node_modules/old/lib/main.js': `exports.heavy = '${HEAVY}'`,
  })
  return bundleSize(join(root, 'src/main.ts'), root)
}

const heavySize = gzipSync(HEAVY, { level: 9 }).length

describe('in the size of a module are', () => {
  test.each([
    ['a module that it uses', `export { heavy } from './heavy.ts'`],
    ['one that it imports when it is called', `export const load = () => import('./heavy.ts')`],
    ['one that is passed on', `export * from './later.ts'`],
    ['a package as it is published', `export { heavy } from 'published'`],
    ['a package whose entry is TypeScript', `export { heavy } from 'workspace'`],
    ['a package of the old form', `export { heavy } from 'old'`],
  ])('%s', async (_, code) => {
    const { minified, gzipped } = await sizeOf(code)
    expect(minified).toBeGreaterThan(HEAVY.length)
    expect(gzipped).toBeGreaterThan(heavySize)
    expect(gzipped).toBeLessThan(minified)
  })
})

describe('in the size of a module are not', () => {
  test.each([
    ['types', `import type { Heavy } from './heavy.ts'\nexport type Main = Heavy`],
    ['what it does not use', `export { later } from './later.ts'`],
    ['native drivers', `export { heavy } from 'better-sqlite3'`],
    ['modules of Node', `export { gzipSync } from 'node:zlib'`],
    ['modules of Node under their old names', `export { gzipSync } from 'zlib'`],
    ['files with native code', `import './binding.node'`],
    ['packages that are not installed', `export { heavy } from 'not-installed'`],
    ['comments', `/*! @license ${HEAVY} */ export const other = 2`],
  ])('%s', async (_, code) => {
    const { minified, gzipped } = await sizeOf(code)
    expect(minified).toBeLessThan(200)
    expect(gzipped).toBeLessThan(250)
  })
})

test('the size is that of the bundle, to the byte', async () => {
  const code = `export const other = 'ä'`
  const size = await sizeOf(code)
  expect(await sizeOf(code)).toEqual(size)
  const bundle = Buffer.from('const e=1,t=`ä`;export{e as main,t as other};')
  expect(size).toEqual({ minified: bundle.length, gzipped: gzipSync(bundle, { level: 9 }).length })
  expect(gunzipSync(gzipSync(bundle))).toEqual(bundle)
})
