import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Run by the `package` script of each library. Checks the tarball, because only packing applies
// `publishConfig` and replaces `workspace:` and `catalog:` with versions.
const folder = mkdtempSync(join(tmpdir(), 'check-package-'))
process.on('exit', () => rmSync(folder, { recursive: true }))

// On Windows, these commands are scripts that only a shell can run, and files have no executable bit.
const shell = process.platform === 'win32'
run('pnpm', 'pack', '--pack-destination', folder)
const tarballs = readdirSync(folder).map((name) => join(folder, name))
run('publint', '--strict', ...tarballs)
run('attw', '--profile', 'esm-only', ...tarballs)
for (const tarball of tarballs) run('tar', '-xzf', tarball, '-C', folder)
checkContents(join(folder, 'package'))

function run(command: string, ...args: string[]): void {
  const options = shell ? args.map((arg) => `"${arg}"`) : args
  const { status, error } = spawnSync(command, options, { stdio: 'inherit', shell })
  if (error) throw error
  if (status !== 0) process.exit(1)
}

/** Checks what publint and attw don't. */
function checkContents(root: string): void {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const { version, sideEffects, engines, exports, bin, dependencies, peerDependencies } = JSON.parse(
    read('package.json'),
  )

  // The first release creates the changelog.
  const documents = ['LICENSE', 'README.md', ...(version === '0.0.0' ? [] : ['CHANGELOG.md'])]
  for (const path of documents) assert.ok(read(path).length > 500, `${path} is too short`)
  const files = globSync('**/*', { cwd: root }).filter((path) => statSync(join(root, path)).isFile())
  const pages = files.filter((path) => /^api[\\/].*\.md$/.test(path))
  assert.ok(pages.length > Object.keys(exports).length / 2, 'the API reference is missing: run pnpm prepack')
  const code = files.filter((path) => path !== 'package.json' && ![...documents, ...pages].includes(path))
  const foreign = code.filter((path) => !/^dist[\\/].*\.(js|d\.ts)$/.test(path) || /\.test\./.test(path))
  assert.deepEqual(foreign, [], 'the tarball has unused files')
  const mapped = code.filter((path) => read(path).includes('sourceMappingURL'))
  assert.deepEqual(mapped, [], 'source maps refer to missing files')

  assert.equal(sideEffects, false)
  assert.match(engines.node, /^>=\d+\.\d+$/)
  const targets: string[] = [...Object.values<string>(exports), ...Object.values<string>(bin ?? {})]
  const missing = targets.filter((target) => !files.includes(join(target)))
  assert.deepEqual(missing, [], 'package.json names missing files')
  for (const target of Object.values<string>(bin ?? {})) {
    assert.ok(read(target).startsWith('#!/usr/bin/env node\n'))
    assert.ok(shell || statSync(join(root, target)).mode & 0o100, `${target} is not executable`)
  }
  for (const [name, range] of Object.entries<string>({ ...dependencies, ...peerDependencies })) {
    assert.match(range, /^[\^>=\d]/, `the range "${range}" of ${name} works only in the workspace`)
    // Both libraries are released together.
    if (name.startsWith('@sallyport/')) assert.equal(range, `^${version}`)
  }
}
