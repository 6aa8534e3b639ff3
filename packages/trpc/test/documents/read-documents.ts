import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('../../../..', import.meta.url))

/** A fenced block of a document. */
export interface Block {
  readonly language: string
  readonly code: string
  /** The line of the document with its first line of code. */
  readonly line: number
  /** The path in its first line: `// context.ts`, or `<!-- app.vue -->`. */
  readonly name: string | null
  /** `<!-- prints: ... -->` before it: texts that its output must contain in this order. */
  readonly prints: readonly string[] | null
}

/** A page, with its blocks in order. */
export interface Document {
  readonly path: string
  readonly blocks: readonly Block[]
  /** What is wrong with its comments and fences, each with its line. */
  readonly faults: readonly string[]
}

/** Every page for readers. */
export const readDocuments = (): Document[] =>
  globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md'], {
    cwd: ROOT,
    exclude: ['docs/{.vitepress,api}/**'],
  })
    .toSorted()
    .map((path) => readDocument(path, readFileSync(join(ROOT, path), 'utf8')))

/** Reads the blocks of a page, and the comments "prints" before them. */
export function readDocument(path: string, text: string): Document {
  const lines = text.split('\n')
  const blocks: Block[] = []
  const faults: string[] = []
  let prints: string[] | null = null
  const fault = (index: number, message: string) => faults.push(`${path}:${index + 1}: ${message}`)

  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? ''
    const comment = /^\s*<!-- (given|prints|file):(.*)$/.exec(line)
    const fence = /^(\s*)(`{3,}|~{3,})\s*(.*)$/.exec(line)
    if (comment) {
      const [, kind = '', first = ''] = comment
      const start = i
      const body = [first]
      while (!lines[i]?.trimEnd().endsWith('-->') && i < lines.length) body.push(lines[++i] ?? '')
      if (i === lines.length) fault(start, 'this comment does not end')
      if (kind === 'prints') prints = body.map((text) => text.replace('-->', '').trim()).filter(Boolean)
      else fault(start, `write the lines in the block, not in a comment "${kind}"`)
    } else if (fence) {
      const [, indent = '', marks = '', language = ''] = fence
      const start = i + 1
      const code: string[] = []
      while (lines[++i]?.trim() !== marks && i < lines.length)
        code.push(lines[i]?.startsWith(indent) ? (lines[i]?.slice(indent.length) ?? '') : (lines[i] ?? ''))
      if (i === lines.length) fault(start - 1, 'this block does not end')
      blocks.push({
        language,
        code: `${code.join('\n')}\n`,
        line: start + 1,
        name: /^(?:\/\/|<!--) ([\w./[\]$+-]+\.\w+)(?=$|[ ,])/.exec(code[0] ?? '')?.[1] ?? null,
        prints,
      })
      prints = null
    } else if (line.trim() !== '') {
      if (prints !== null) fault(i, 'no block follows the comment "prints"')
      prints = null
      // An indented block has no language, so no test checks it. In a list, indented lines are a paragraph.
      const isIndented = /^(\t| {4})/.test(line) && lines[i - 1]?.trim() === ''
      const before = lines.slice(0, i).findLast((text) => text.trim() !== '')
      if (isIndented && !/^\s|^[-*+] |^\d+\. /.test(before ?? '')) fault(i, 'use a fence with a language')
    }
  }
  return { path, blocks, faults }
}

/** Returns the texts of `prints` that the output lacks, or that it has in another order. */
export function missingFrom(printed: string, { prints }: Block): string[] {
  let rest = printed
  return (prints ?? []).filter((text) => {
    const place = rest.indexOf(text)
    if (place !== -1) rest = rest.slice(place + text.length)
    return place === -1
  })
}
