import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('../../../..', import.meta.url))

/** A fenced block of a document. */
export interface Block {
  readonly language: string
  readonly code: string
  /** Where its first line of code stands in the document. */
  readonly line: number
  /** The path in its first line: `// context.ts`. */
  readonly name: string | null
  /** `<!-- given: ... -->` before it: the lines that belong before it, or around it where one of them is `…`. */
  readonly given: string | null
  /** `<!-- prints: ... -->` before it: what its output has, in this order. */
  readonly prints: readonly string[] | null
}

/** `<!-- file: name ... -->`: a file that readers have, or need not see. */
export interface GivenFile {
  readonly name: string
  readonly code: string
  readonly line: number
}

/** A page, with all that tests need of it in the order in which it stands there. */
export interface Document {
  readonly path: string
  readonly parts: readonly (Block | GivenFile)[]
  /** What cannot be read: each with its line. */
  readonly faults: readonly string[]
}

export const isBlock = (part: Block | GivenFile): part is Block => 'language' in part

export const blocksOf = ({ parts }: Document): Block[] => parts.filter(isBlock)

/** Every page for readers. */
export const readDocuments = (): Document[] =>
  globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md'], { cwd: ROOT, exclude: ['docs/api/**'] })
    .toSorted()
    .map((path) => readDocument(path, readFileSync(join(ROOT, path), 'utf8')))

/** Finds the blocks of a page, and the comments that are for them. */
export function readDocument(path: string, text: string): Document {
  const lines = text.split('\n')
  const parts: (Block | GivenFile)[] = []
  const faults: string[] = []
  let comments = new Map<string, string>()
  const fault = (index: number, message: string) => faults.push(`${path}:${index + 1}: ${message}`)

  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? ''
    const comment = /^\s*<!-- (given|prints|file):(.*)$/.exec(line)
    const fence = /^(\s*)(`{3,}|~{3,})\s*(.*)$/.exec(line)
    if (comment) {
      const [, kind = '', first = ''] = comment
      const start = i
      const body = [first.trim()]
      while (!lines[i]?.trimEnd().endsWith('-->') && i < lines.length) body.push(lines[++i] ?? '')
      if (i === lines.length) fault(start, 'this comment does not end')
      const content = body.map((text) => text.replace(/\s*-->\s*$/, ''))
      const text = content.slice(content[0] === '' ? 1 : 0).join('\n')
      if (kind === 'file')
        parts.push({ name: content[0] ?? '', code: `${content.slice(1).join('\n')}\n`, line: start + 2 })
      else comments.set(kind, text.trimEnd())
    } else if (fence) {
      const [, indent = '', marks = '', language = ''] = fence
      const start = i + 1
      const code: string[] = []
      while (lines[++i]?.trim() !== marks && i < lines.length)
        code.push(lines[i]?.startsWith(indent) ? (lines[i]?.slice(indent.length) ?? '') : (lines[i] ?? ''))
      if (i === lines.length) fault(start - 1, 'this block does not end')
      parts.push({
        language,
        code: `${code.join('\n')}\n`,
        line: start + 1,
        name: /^\/\/ ([\w./[\]-]+\.\w+)(?=$|[ ,])/.exec(code[0] ?? '')?.[1] ?? null,
        given: comments.get('given') ?? null,
        prints: comments.get('prints')?.split('\n').filter(Boolean) ?? null,
      })
      comments = new Map()
    } else if (line.trim() !== '') {
      if (comments.size > 0) fault(i, `no block follows the comment "${[...comments.keys()].join('", "')}"`)
      comments = new Map()
      // A block that is only indented would be seen by nobody. In a list it is a paragraph.
      const isIndented = /^(\t| {4})/.test(line) && lines[i - 1]?.trim() === ''
      const before = lines.slice(0, i).findLast((text) => text.trim() !== '')
      if (isIndented && !/^\s|^[-*+] |^\d+\. /.test(before ?? '')) fault(i, 'use a fence with a language')
    }
  }
  return { path, parts, faults }
}

/** A block within the lines that it is given, and how many of these stand before it. */
export function withGiven({ code, given }: Block): { text: string; linesBefore: number } {
  const lines = given === null ? [] : given.split('\n')
  const place = lines.findIndex((line) => line.trim() === '…')
  const before = place === -1 ? lines : lines.slice(0, place)
  const after = place === -1 ? [] : lines.slice(place + 1)
  const text = [...before, code, ...after].join('\n')
  return { text, linesBefore: before.length }
}

/** What was to be printed and was not, or not in this order. */
export function missingFrom(printed: string, { prints }: Block): string[] {
  let rest = printed
  return (prints ?? []).filter((text) => {
    const place = rest.indexOf(text)
    if (place !== -1) rest = rest.slice(place + text.length)
    return place === -1
  })
}
