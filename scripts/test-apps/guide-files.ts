import { readFileSync } from 'node:fs'
import { type Block, readDocuments } from '../../packages/trpc/test/documents/read-documents.ts'
import { PROCEDURES } from '../../packages/trpc/test/next/write-files.ts'

/** The text of each file, by its path in the app. */
export type Files = Readonly<Record<string, string>>

export interface GuideFilesOptions {
  /** The folder of the README's files. */
  readonly library: string
  /** The blocks of other pages by their names, with their paths in the app. */
  readonly blocks: Readonly<Record<`docs/${string}.md`, readonly (readonly [name: RegExp, folder: string])[]>>
}

/** Returns the files of an app: those of its guides, and those of the README, which open lazily. */
export function guideFiles({ library, blocks }: GuideFilesOptions): Files {
  const files: Record<string, string> = {}
  for (const { name, code } of blocksOf('README.md'))
    if (name !== null && name !== 'server.ts') files[`${library}${name}`] = code
  const lazy = blocksOf('docs/install.md').filter(({ name }) => name === null)
  files[`${library}auth.config.ts`] = blockWith(lazy, 'defineAuthConfig(() =>')
  files[`${library}context.ts`] = withDrain(blockWith(lazy, 'createAuth(authDefinition, open'))
  for (const [page, places] of Object.entries(blocks))
    for (const { name, code } of blocksOf(page))
      for (const [pattern, folder] of places)
        if (name !== null && pattern.test(name)) files[`${folder}${name}`] = code
  const router = `${library}router.ts`
  files[router] = files[router]?.replace(/^ {2}rotateKey:/m, `  ${PROCEDURES}$&`) ?? ''
  return Object.fromEntries(Object.entries(files).map(([path, code]) => [path, forProofs(code)]))
}

/** Adds what docs/server.md adds to the file that creates `auth`. */
export function withDrain(context: string): string {
  const page = readFileSync(new URL('../../docs/server.md', import.meta.url), 'utf8')
  const [, line] = /^`(if \(.*)`$/m.exec(page) ?? []
  if (line === undefined) throw new Error('docs/server.md has no line for frameworks')
  return `import { drain } from '@sallyport/trpc'\n${context}\n${line}\n`
}

function blocksOf(page: string): readonly Block[] {
  return readDocuments().find(({ path }) => path === page)?.blocks ?? []
}

function blockWith(blocks: readonly Block[], text: string): string {
  const block = blocks.find(({ code }) => code.includes(text))
  if (!block) throw new Error(`No block has ${text}`)
  return block.code
}

/** Bundlers need no extensions. The proofs send a body of 90 KB. */
function forProofs(code: string): string {
  return code
    .replaceAll(/( from '\.[^']*)\.tsx?'/g, "$1'")
    .replaceAll('createHandler({', '$& maxBodySize: 100_000,')
}
