import { globSync, readFileSync } from 'node:fs'
import { TextlintKernel } from '@textlint/kernel'
import markdown from '@textlint/textlint-plugin-markdown'
import { type Comments, readComments } from './read-comments.ts'
import { RULES } from './rules.ts'

// `pnpm prose` checks all documents and comments, `pnpm prose FILE...` the named files.
const DOCUMENTS = ['*.md', 'docs/**/*.md', 'packages/*/README.md', '.changeset/*.md']
const SOURCES = [
  'packages/*/{src,bench,scripts,test}/**/*.{ts,tsx}',
  '{scripts,bench,docs/.vitepress}/**/*.ts',
  '*.ts',
]
const EXCLUDED = ['docs/api/**', '**/node_modules/**', '**/dist/**', '**/generated/**', 'packages/*/api/**']
const MAX_COLUMNS = 110

const kernel = new TextlintKernel()
const files = process.argv.slice(2)
const paths = files.length > 0 ? files : globSync([...DOCUMENTS, ...SOURCES], { exclude: EXCLUDED })
const findings = (await Promise.all(paths.toSorted().map(check))).flat()
for (const finding of findings) console.log(finding)
console.log(`${paths.length} files, ${findings.length} findings`)
if (findings.length > 0) process.exitCode = 1

async function check(path: string): Promise<string[]> {
  const source = readFileSync(path, 'utf8')
  const comments = path.endsWith('.md') ? null : readComments(path, source)
  const { messages } = await kernel.lintText(comments?.text ?? source, {
    filePath: path,
    ext: '.md',
    plugins: [{ pluginId: 'markdown', plugin: markdown.default }],
    rules: RULES,
  })
  const found = messages.map(({ loc, message, range }) => ({
    line: comments?.lines[loc.start.line - 1] ?? loc.start.line,
    message: `${(comments?.text ?? source).slice(...range).slice(0, 60)}: ${message}`,
  }))
  const long = comments === null ? [] : longLines(source, comments)
  return [...found, ...long]
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, message }) => `${path}:${line}: ${message.replaceAll(/\s+/g, ' ')}`)
}

function longLines(source: string, { lines }: Comments): { line: number; message: string }[] {
  const text = source.split('\n')
  return [...new Set(lines)]
    .map((line) => ({ line, columns: text[line - 1]?.length ?? 0 }))
    .filter(({ columns }) => columns > MAX_COLUMNS)
    .map(({ line, columns }) => ({ line, message: `${columns} columns: wrap the comment at ${MAX_COLUMNS}` }))
}
