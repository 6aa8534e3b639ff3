import { staticJwks } from '@sallyport/core'
import { defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { beforeAll, expect, test } from 'vitest'
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
