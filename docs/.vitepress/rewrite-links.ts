import { readFileSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import type { MarkdownOptions } from 'vitepress'
import { ROOT, sitePath } from './pages.ts'

type MarkdownIt = Parameters<NonNullable<MarkdownOptions['config']>>[0]

const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const address = repository?.url.replace(/^git\+|\.git$/g, '')

/**
 * Makes links between files of the repository work on the site. A link to a file that isn't a page leads to
 * the `repository` of package.json. Without one, it becomes plain text.
 */
export function rewriteLinks(md: MarkdownIt): void {
  md.core.ruler.push('rewrite-links', ({ tokens, env }) => {
    const folder = posix.dirname(relative(ROOT, env.realPath ?? env.path).replaceAll('\\', '/'))
    for (const { children } of tokens)
      for (const [index, token] of children?.entries() ?? []) {
        const link = token.type === 'link_open' ? token.attrGet('href') : null
        if (link === null || /^([a-z]+:|[#/])/.test(link)) continue
        const [, path = '', hash = ''] = /^([^#]*)(.*)$/.exec(link) ?? []
        const file = posix.join(folder, path)
        const page = file.endsWith('.md') ? sitePath(file) : null
        if (page !== null) token.attrSet('href', `/${page}${hash}`)
        else if (address) token.attrSet('href', `${address}/blob/main/${file}${hash}`)
        else {
          const end = children?.slice(index).find(({ type }) => type === 'link_close')
          for (const tag of [token, end]) if (tag) tag.tag = 'span'
          token.attrs = null
        }
      }
  })
}
