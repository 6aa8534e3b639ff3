import { parseSync } from 'rolldown/utils'

/** The comments of a source file as Markdown. */
export interface Comments {
  readonly text: string
  /** For each line of the text, its line in the source file. */
  readonly lines: readonly number[]
}

/** Reads the comments of a TypeScript file. Each comment, and each TSDoc tag, starts a paragraph. */
export function readComments(path: string, source: string): Comments {
  const text: string[] = []
  const lines: number[] = []
  const push = (content: string, line: number) => {
    text.push(content)
    lines.push(line)
  }
  let previousEnd = 0
  let continues = false
  for (const { type, value, start, end } of parseSync(path, source).comments) {
    const first = source.slice(0, start).split('\n').length
    const isAlone = source.slice(source.lastIndexOf('\n', start) + 1, start).trim() === ''
    // Consecutive lines of comments are one paragraph.
    if (type === 'Block' || !(continues && /^\n[ \t]*$/.test(source.slice(previousEnd, start))))
      push('', first)
    for (const [index, raw] of value.split('\n').entries()) {
      const content = type === 'Block' ? raw.replace(/^\s*\* ?/, '') : raw.trimStart()
      if (content.startsWith('@')) push('', first + index)
      push(content, first + index)
    }
    if (type === 'Block') push('', first)
    previousEnd = end
    continues = isAlone
  }
  return { text: text.join('\n'), lines }
}
