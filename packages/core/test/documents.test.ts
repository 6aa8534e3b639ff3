import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')

/** Paths in backquotes that start at a package. */
const paths = /`((?:core|trpc|example)\/(?:src|test|bench|scripts)\/[\w./-]+\.ts)`/g

test.each([
  'ARCHITECTURE.md',
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/{.vitepress,api}/**'] }),
])('%s names only files that exist', (document) => {
  const text = readFileSync(join(root, document), 'utf8')
  const missing = Array.from(text.matchAll(paths), ([, path = '']) => path).filter(
    (path) => !existsSync(join(root, 'packages', path)),
  )
  expect(missing).toEqual([])
})

test('pnpm links fails on links to files and headings that do not exist', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-links-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, '.gitignore'), '')
  writeFileSync(join(folder, 'other.md'), '# Other\n')
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const check = (text: string) => {
    writeFileSync(join(folder, 'page.md'), `# Page\n\n${text}\n`)
    const args = [join(root, 'node_modules/remark-cli/cli.js'), ...scripts.links.split(' ').slice(1)]
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    return {
      status,
      findings: Array.from(stderr.matchAll(/remark-validate-links:([\w-]+)/g), ([, rule]) => rule),
    }
  }
  expect(check('[a](other.md#other) and [b](#page)')).toEqual({ status: 0, findings: [] })
  expect(check('[a](none.md), [b](other.md#none), and [c](#none)')).toEqual({
    status: 1,
    findings: ['missing-file', 'missing-heading-in-file', 'missing-heading'],
  })
})
