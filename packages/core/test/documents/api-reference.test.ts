import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../../..')

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string>>
}

/** What the packages may be imported as, each with the file that its page is made from and the name of the page. */
const entries = ['core', 'trpc'].flatMap((folder) => {
  const manifest: Manifest = JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'))
  return Object.entries(manifest.exports)
    .filter(([, source]) => source.endsWith('.ts'))
    .map(([path, source]) => ({
      entry: join(manifest.name, path),
      source: join(root, 'packages', folder, source),
      page: `${join(folder, path).replace('/', '-')}.md`,
    }))
})

test.each(entries)('the page of $entry has a heading for every exported name, and no other', (entry) => {
  const page = readFileSync(join(root, 'docs/api', entry.page), 'utf8')
  const headings = [...page.matchAll(/^### (.*)$/gm)].map(([, title = '']) => title.replace(/\\|\(\)$/g, ''))
  const names = exportedNames(readFileSync(entry.source, 'utf8'))
  expect(names.length).toBeGreaterThan(0)
  expect(headings.toSorted()).toEqual(names)
})

test('there is a page for each entry and one that lists them', () => {
  const pages = globSync('docs/api/*', { cwd: root }).map((path) => basename(path))
  expect(pages.toSorted()).toEqual(['README.md', ...entries.map(({ page }) => page)].toSorted())
  const list = readFileSync(join(root, 'docs/api/README.md'), 'utf8')
  const listed = [...list.matchAll(/^\| \[`(.*?)`\]\((.*?)\)/gm)].map(([, name, page]) => `${name}: ${page}`)
  expect(listed.toSorted()).toEqual(entries.map(({ entry, page }) => `${entry}: ${page}`).toSorted())
})

/** The values and the types that a module exports. */
function exportedNames(source: string): string[] {
  const declared = source.matchAll(
    /^export (?:async )?(?:declare )?(?:const|function\*?|class|interface|type) (\w+)/gm,
  )
  const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').map((name) =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/^.* as /, ''),
    ),
  )
  const names = [...[...declared].map(([, name = '']) => name), ...lists].filter((name) => name !== '')
  return [...new Set(names)].sort()
}
