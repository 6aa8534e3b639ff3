import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { GROUPS, ROOT } from '../../../../docs/.vitepress/pages.ts'

test('the sidebar of the site lists every page of docs/ once, and only pages that exist', () => {
  const listed = GROUPS.flatMap(({ pages }) => pages.map((page) => `${page}.md`))
  const pages = globSync('docs/**/*.md', { cwd: ROOT, exclude: ['docs/api/**', 'docs/.vitepress/**'] })
  const documents = listed.filter((page) => page.startsWith('docs/') && !page.startsWith('docs/api/'))
  expect(['docs/index.md', ...documents].toSorted()).toEqual(pages.toSorted())
})
