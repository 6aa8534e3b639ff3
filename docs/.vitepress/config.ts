import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import llms from 'vitepress-plugin-llms'
import { GROUPS, ROOT, sitePath, titleOf } from './pages.ts'
import { rewriteLinks } from './rewrite-links.ts'

const LISTED = GROUPS.flatMap(({ pages }) => pages)

export default defineConfig({
  title: 'Sallyport',
  description: 'An authentication layer for tRPC 11',
  srcDir: '..',
  srcExclude: ['packages/**', '.changeset/**'],
  // A test fails if a page of the sidebar doesn't exist.
  ignoreDeadLinks: [/^http:\/\/localhost/, (url) => LISTED.includes(`docs${url}`)],
  rewrites: (file) => sitePath(file) ?? file,
  markdown: {
    // The anchors of GitHub: a link to a heading works in both places.
    anchor: { slugify: slug },
    config: rewriteLinks,
  },
  vite: {
    plugins: [llms({ injectLLMHint: false })],
    build: { chunkSizeWarningLimit: 2000 },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Errors', link: '/errors' },
      { text: 'API', link: '/api/README' },
    ],
    sidebar: GROUPS.map(({ text, pages }) => ({
      text,
      collapsed: ['API', 'Decisions'].includes(text),
      items: pages
        .map((page) => `${page}.md`)
        .filter((file) => existsSync(join(ROOT, file)))
        .map((file) => ({ text: titleOf(file), link: `/${sitePath(file)}` })),
    })).filter(({ items }) => items.length > 0),
  },
})
