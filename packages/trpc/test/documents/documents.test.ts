import { staticJwks } from '@sallyport/core'
import { defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkBlock } from './check-block.ts'
import { compileBlocks } from './compile-blocks.ts'
import { blocksOf, readDocument, readDocuments } from './read-documents.ts'

const documents = readDocuments().filter(({ parts, faults }) => parts.length + faults.length > 0)

/** A page with a mistake in each block that the compiler looks at, and in what it is given. */
const MISTAKEN = readDocument(
  'mistaken.md',
  `# A page

\`\`\`ts
// a.ts
export const a: string = 1
\`\`\`

<!-- file: b.ts
export const b: string = 1
-->

<!-- given:
import { a } from './a.ts'
import { none } from './b.ts'
console.log(
…
).length
-->

\`\`\`ts
a,
missing,
\`\`\`

- In a list:

  \`\`\`tsx
  import { appRouter } from './router.ts'
  export const Page = () => <p>{appRouter.missing}</p>
  \`\`\`

\`\`\`ts
// a.ts - another state of the file
export const a = 1
\`\`\`

\`\`\`ts
import { a } from './a.ts'
export const number: number = a
export const text: string = a
\`\`\`
`,
)

let complaints: readonly string[]
const ofPage = (path: string) => complaints.filter((complaint) => complaint.startsWith(`${path}:`))

beforeAll(async () => {
  complaints = await compileBlocks([...documents, MISTAKEN])
}, 60_000)

test.each(documents)('every block of code in $path compiles, or is what it says', async (document) => {
  const checked = await Promise.all(blocksOf(document).map((block) => checkBlock(block, document)))
  expect([...document.faults, ...ofPage(document.path), ...checked.flat()]).toEqual([])
})

test('what the compiler says is said of a page', () => {
  const paths = [...documents, MISTAKEN].map(({ path }) => path)
  expect(complaints.filter((complaint) => !paths.some((path) => complaint.startsWith(`${path}:`)))).toEqual(
    [],
  )
})

test('what does not compile is told with its line in the page', () => {
  expect(ofPage('mistaken.md').toSorted()).toEqual([
    expect.stringMatching(/^mistaken\.md:21 \(in what it is given before, line 2\): .*'none'/),
    expect.stringMatching(/^mistaken\.md:22 \(in what it is given behind\): /),
    expect.stringMatching(/^mistaken\.md:22: .*'missing'/),
    expect.stringMatching(/^mistaken\.md:29: .*'missing'/),
    expect.stringMatching(/^mistaken\.md:40: .*'number' is not assignable to type 'string'/),
    expect.stringMatching(/^mistaken\.md:5: .*'number' is not assignable to type 'string'/),
    expect.stringMatching(/^mistaken\.md:9: .*'number' is not assignable to type 'string'/),
  ])
})

describe('a block that is not what it says is told with its line', () => {
  const block = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\``
  test.each([
    ['an unknown language', block('cobol', 'STOP RUN.'), /^page\.md:2: nobody checks .*"cobol"/],
    ['JSON that is none', block('json', '{ a: 1 }'), /^page\.md:2: SyntaxError/],
    ['SQL with a column that is not there', block('sql', 'select none from session'), /^page\.md:2: .*none/],
    ['HTML whose element does not end', block('html', '<div><p></div>'), /^page\.md:2: <\/div> ends nothing/],
    [
      'HTML with a script that the page lacks',
      block('html', '<script src="/src/a.ts"></script>'),
      /no block "a\.ts"/,
    ],
    [
      'a setting of nginx without its end',
      block('nginx', 'location / {\nroot /a\n}'),
      /"root \/a" does not end/,
    ],
    ['code without its language', block('', 'const a = 1'), /^page\.md:2: this is code/],
    ['code as text', block('text', 'npm i none'), /^page\.md:2: this is code/],
    ['a console without a command', block('console', 'done'), /^page\.md:2: a console begins/],
    ['a package that does not exist', block('sh', 'npm i pg left-pad'), /has no package "left-pad"/],
    ['a script that does not exist', block('sh', 'npx -y pnpm none'), /"sallyport" has no script "none"/],
    ['a path that does not exist', block('sh', 'npx -y pnpm test packages/none'), /no file "packages\/none"/],
    ['a script of no package', block('sh', 'npx -y pnpm --filter @a/b start'), /no package "@a\/b"/],
    [
      'a file that does not exist',
      block('sh', 'A=1 node --env-file=.env src/none.ts'),
      /no file "src\/none\.ts"/,
    ],
    [
      'a command that does not exist',
      block('sh', 'npx sallyport keys none'),
      /no command "sallyport keys none"/,
    ],
    [
      'a program that nobody knows',
      block('sh', 'npm i pg && rm -r data'),
      /how to check the command "rm -r data"/,
    ],
    ['curl without what it prints', block('sh', 'curl localhost'), /^page\.md:2: say in a comment "prints"/],
  ])('%s', async (_what, text, fault) => {
    const page = readDocument('page.md', text)
    const faults = await Promise.all(blocksOf(page).map((block) => checkBlock(block, page)))
    expect(faults.flat()).toEqual([expect.stringMatching(fault)])
  })

  test.each([
    ['code that is only indented', 'Text\n\n    const a = 1\n', 'page.md:3: use a fence with a language'],
    [
      'a comment with no block after it',
      '<!-- given: const a = 1 -->\n\nText',
      'page.md:3: no block follows the comment "given"',
    ],
    ['a comment that does not end', '<!-- given:\nText\n', 'page.md:1: this comment does not end'],
    ['a block that does not end', '```ts\nText\n', 'page.md:1: this block does not end'],
  ])('%s', (_what, text, fault) => {
    expect(readDocument('page.md', text).faults).toEqual([fault])
  })
})

test('docs/keys.md shows what a wrong variable is answered with', async () => {
  const page = documents.find(({ path }) => path === 'docs/keys.md')
  const shown = page?.parts
    .find((part) => part.code.includes('JWKS is not JSON'))
    ?.code.trim()
    .split('\n')
  const [key, other] = [await createSigningKey(), await createSigningKey()]
  const auth = await createTestAuth()
  const wrong = [
    () => staticJwks(`'{"keys":[]}'`),
    () => staticJwks(JSON.stringify({ keys: [key] })),
    () => defineAuth({ config: auth.config, signingKeys: parseSigningKeys({ keys: [other] }) }),
  ]
  await auth.close()
  expect(wrong.map(messageOf)).toEqual(shown)
})

function messageOf(work: () => unknown): string {
  try {
    return `${work()} was let through`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
