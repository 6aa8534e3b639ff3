import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')

/** Paths in backquotes that begin at a package. */
const paths = /`((?:core|trpc|example)\/(?:src|test|bench|scripts)\/[\w./-]+\.ts)`/g

test.each([
  'ARCHITECTURE.md',
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/api/**'] }),
])('%s names only files that exist', (document) => {
  const text = readFileSync(join(root, document), 'utf8')
  const missing = Array.from(text.matchAll(paths), ([, path = '']) => path).filter(
    (path) => !existsSync(join(root, 'packages', path)),
  )
  expect(missing).toEqual([])
})

test.each(globSync(['*.md', 'docs/**/*.md'], { cwd: root, exclude: ['docs/api/**'] }))(
  '%s links only to files that exist',
  (document) => {
    const text = readFileSync(join(root, document), 'utf8').replace(/^```[\s\S]*?^```/gm, '')
    const links = Array.from(text.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g), ([, link = '']) => link)
    expect(links.filter((link) => !existsSync(join(root, document, '..', link)))).toEqual([])
  },
)
