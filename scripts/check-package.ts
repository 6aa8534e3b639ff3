import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Run by each library's `package`. It checks the tarball that would be published, because only packing applies
// `publishConfig` and turns `workspace:` and `catalog:` into versions.
const folder = mkdtempSync(join(tmpdir(), 'check-package-'))
process.on('exit', () => rmSync(folder, { recursive: true }))

run('pnpm', 'pack', '--pack-destination', folder)
const tarballs = readdirSync(folder).map((name) => join(folder, name))
run('publint', '--strict', ...tarballs)
run('attw', '--profile', 'esm-only', ...tarballs)
for (const tarball of tarballs) run('tar', '-xzf', tarball, '-C', folder)
checkContents(join(folder, 'package'))

function run(command: string, ...args: string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) process.exit(1)
}

/** What neither publint nor attw asks. */
function checkContents(root: string): void {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const { version, sideEffects, engines, exports, bin, dependencies, peerDependencies } = JSON.parse(
    read('package.json'),
  )

  // There is a changelog as soon as there has been a release.
  const documents = ['LICENSE', 'README.md', ...(version === '0.0.0' ? [] : ['CHANGELOG.md'])]
  for (const path of documents) assert.ok(read(path).length > 500, `${path} says next to nothing`)
  const files = globSync('**/*', { cwd: root }).filter((path) => statSync(join(root, path)).isFile())
  const pages = files.filter((path) => /^api[\\/].*\.md$/.test(path))
  assert.ok(pages.length > Object.keys(exports).length / 2, 'the API reference is missing')
  const code = files.filter((path) => path !== 'package.json' && ![...documents, ...pages].includes(path))
  const foreign = code.filter((path) => !/^dist[\\/].*\.(js|d\.ts)$/.test(path) || /\.test\./.test(path))
  assert.deepEqual(foreign, [], 'the tarball has files that nobody imports')
  const mapped = code.filter((path) => read(path).includes('sourceMappingURL'))
  assert.deepEqual(mapped, [], 'source maps lead to files that are not there')

  assert.equal(sideEffects, false)
  assert.match(engines.node, /^>=\d+\.\d+$/)
  const targets: string[] = [...Object.values<string>(exports), ...Object.values<string>(bin ?? {})]
  const missing = targets.filter((target) => !files.includes(join(target)))
  assert.deepEqual(missing, [], 'package.json names files that are not there')
  for (const target of Object.values<string>(bin ?? {})) {
    assert.ok(read(target).startsWith('#!/usr/bin/env node\n'))
    assert.ok(statSync(join(root, target)).mode & 0o100, `${target} is not executable`)
  }
  for (const [name, range] of Object.entries<string>({ ...dependencies, ...peerDependencies })) {
    assert.match(
      range,
      /^[\^>=\d]/,
      `${name} is wanted as "${range}", which means nothing outside the workspace`,
    )
    // Both are released together.
    if (name.startsWith('@sallyport/')) assert.equal(range, `^${version}`)
  }
}
