import { staticJwks } from '@sallyport/core'
import { defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { beforeAll, expect, test } from 'vitest'
import { checkBlock } from './check-block.ts'
import { compileBlocks } from './compile-blocks.ts'
import { readDocument, readDocuments } from './read-documents.ts'

const documents = readDocuments().filter(({ blocks, faults }) => blocks.length + faults.length > 0)

/** `test/next` and `pnpm test:apps` compile these pages, with the settings of their frameworks. */
const COMPILED_ELSEWHERE = [
  'nextjs',
  'other-frameworks',
  'pages-router',
  'react-router',
  'tanstack-start',
].map((name) => `docs/${name}.md`)

/** A page with a mistake in each block but the first two, and comments that aren't supported. */
const MISTAKEN = readDocument(
  'mistaken.md',
  `# A page

\`\`\`ts
// a.ts
export const a: string = 'a'
\`\`\`

\`\`\`ts
import { a } from './a.ts'
export const text: string = a
\`\`\`

- In a list:

  \`\`\`tsx
  import { appRouter } from './router.ts'
  export const Page = () => <p>{appRouter.missing}</p>
  \`\`\`

\`\`\`ts
// a.ts - another state of the file
export const a = 1
export const b: string = a
\`\`\`

\`\`\`ts
import { a } from './a.ts'
export const number: number = a
export const text: string = a
\`\`\`

<!-- file: c.ts
export const c = 1
-->

<!-- given: declare const d: string -->

\`\`\`ts
import { c } from './c.ts'
console.log(c, d)
\`\`\`
`,
)

let complaints: readonly string[]
const ofPage = (path: string) => complaints.filter((complaint) => complaint.startsWith(`${path}:`))

beforeAll(async () => {
  const compiled = documents.filter(({ path }) => !COMPILED_ELSEWHERE.includes(path))
  complaints = await compileBlocks([...compiled, MISTAKEN])
}, 60_000)

test.each(documents)('every block of code in $path compiles, or is what it says', async (document) => {
  const checked = await Promise.all(document.blocks.map((block) => checkBlock(block, document)))
  expect([...document.faults, ...ofPage(document.path), ...checked.flat()]).toEqual([])
})

test('what the compiler says is said of a page', () => {
  const paths = [...documents, MISTAKEN].map(({ path }) => path)
  expect(complaints.filter((complaint) => !paths.some((path) => complaint.startsWith(`${path}:`)))).toEqual(
    [],
  )
})

test('a mistake in a block is reported with its line', () => {
  expect(ofPage('mistaken.md').toSorted()).toEqual([
    expect.stringMatching(/^mistaken\.md:17: .*'missing'/),
    expect.stringMatching(/^mistaken\.md:23: .*'number' is not assignable to type 'string'/),
    expect.stringMatching(/^mistaken\.md:29: .*'number' is not assignable to type 'string'/),
    expect.stringMatching(/^mistaken\.md:39: .*'\.\/c\.ts'/),
    expect.stringMatching(/^mistaken\.md:40: .*'d'/),
  ])
})

test('every block with a pool of PostgreSQL listens for its errors, or a restart ends the process', () => {
  const blocks = documents.flatMap(({ blocks }) => blocks.map(({ code }) => code))
  const pools = blocks.filter((code) => /new Pool\(|drizzle-orm\/node-postgres/.test(code))
  expect(pools).toHaveLength(3)
  expect(pools.filter((code) => !code.includes(".on('error', "))).toEqual([])
})

test('the comments "given" and "file" are faults', () => {
  expect(MISTAKEN.faults).toEqual([
    'mistaken.md:32: write the lines in the block, not in a comment "file"',
    'mistaken.md:36: write the lines in the block, not in a comment "given"',
  ])
})

test('docs/keys.md shows what a wrong variable is answered with', async () => {
  const page = documents.find(({ path }) => path === 'docs/keys.md')
  const shown = page?.blocks
    .find(({ code }) => code.includes('JWKS is not JSON'))
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
