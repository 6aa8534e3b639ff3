import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const main = join(import.meta.dirname, '../../../../scripts/prose/check-prose.ts')
const LONG = `A sentence ${'with another word '.repeat(14)}ends.`

/** Runs the prose check on a file, and returns its exit status and the lines that it complains about. */
function checkProse(name: string, text: string): { status: number | null; lines: number[] } {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-prose-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, name)
  writeFileSync(file, text)
  const { status, stdout } = spawnSync(process.execPath, [main, file], { encoding: 'utf8' })
  const places = stdout.split('\n').filter((line) => line.startsWith(`${file}:`))
  return { status, lines: places.map((line) => Number(line.slice(file.length + 1).split(':')[0])) }
}

test('the prose check fails on a document with forbidden words and long sentences', () => {
  const text = `# A page for nobody

\`Nobody\` is code, and so is this:

\`\`\`ts
nobody.calls()
\`\`\`

| Column | Words of its own |
|---|---|
| 1 | ${LONG} |

There is no session, and the key is no longer valid. Is there a key? The
limiter counts attempts. All look alike. It is so because nobody knows: what
counts is no
secret.

${LONG}
`
  expect(checkProse('page.md', text)).toEqual({ status: 1, lines: [1, 9, 11, 14, 15, 18] })
})

test('the prose check fails on comments with forbidden words, and on wide ones', () => {
  const text = `import { a } from './nobody.ts'

/**
 * What {@link a} returns. It does so by
 * itself, as \`nobody\` knows.
 *
 * @param nobody … is a name
 */
export const text = 'nobody // nobody' // whoever
// Wide: ${'x'.repeat(110)}
// so that ends here, ${'and no words '.repeat(6)}
// ${'and no words '.repeat(6)}
`
  expect(checkProse('source.ts', text)).toEqual({ status: 1, lines: [4, 4, 7, 9, 10, 10, 11] })
})

test('the prose check accepts a page without such faults', () => {
  expect(checkProse('page.md', '# A page\n\nThe client sends a token.\n')).toEqual({ status: 0, lines: [] })
})
