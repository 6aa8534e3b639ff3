import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { nodeVersionFault } from '../../src/protocol/node-version.ts'

const core = join(import.meta.dirname, '../..')
const { engines } = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8'))

/** Runs a module in a process that reports itself as Node 20. */
function runOnNode20(source: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`
  const args = ['--input-type=module', '-e', `${pretend}\n${source}`]
  return promisify(execFile)(process.execPath, args, { cwd: core }).catch((error) => error)
}

test.each([
  ['20.20.2', false],
  ['22.13.9', false],
  ['22.14.0', true],
  ['23.0.0', true],
  ['26.10.0', true],
])('Node %s: %s', (version, isFit) => {
  expect(nodeVersionFault(version) === null).toBe(isFit)
})

test('the minimum version is the one in package.json', () => {
  expect(nodeVersionFault('1.0.0')).toContain(`Node ${engines.node.replace('>=', '')} or later`)
})

test.each([
  ['sallyport', `await import('./src/cli/main.ts')`],
  ['openSqlite', `await (await import('./src/sqlite.ts')).openSqlite(':memory:')`],
  ['openSqliteStore', `await (await import('./src/sqlite.ts')).openSqliteStore('app.db', { mapping: {} })`],
])('%s reports that Node 20 is too old', async (_name, source) => {
  expect(await runOnNode20(source)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Sallyport needs Node 22.14 or later, and this is Node 20.20.2'),
  })
})
