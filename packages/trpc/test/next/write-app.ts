import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readDocuments } from '../documents/read-documents.ts'
import { installLibraries } from './install-libraries.ts'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

/** The tsconfig.json of create-next-app. */
const TSCONFIG = {
  compilerOptions: {
    target: 'ES2017',
    lib: ['dom', 'dom.iterable', 'esnext'],
    allowJs: true,
    skipLibCheck: true,
    strict: true,
    noEmit: true,
    esModuleInterop: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    resolveJsonModule: true,
    isolatedModules: true,
    jsx: 'react-jsx',
    incremental: true,
    plugins: [{ name: 'next' }],
    paths: { '@/*': ['./*'] },
  },
  include: [
    'next-env.d.ts',
    '**/*.ts',
    '**/*.tsx',
    '.next/types/**/*.ts',
    '.next/dev/types/**/*.ts',
    '**/*.mts',
  ],
  exclude: ['node_modules'],
}

/** Files that the guide doesn't have. */
const FILES = {
  'app/template.tsx': `'use client'
import { useAuth } from '@sallyport/trpc/react'
import { useRouter } from 'next/navigation'
import { type ReactNode, useEffect } from 'react'

export default function Template({ children }: { children: ReactNode }) {
  const { client } = useAuth()
  const router = useRouter()
  useEffect(() => {
    Object.assign(window, { client, router })
  })
  return children
}
`,
  'app/page.tsx': `export default function HomePage() {
  return <p>Home</p>
}
`,
  'app/keys/page.tsx': `import { rotateKey } from '../actions'

export default function KeysPage() {
  async function rotate() {
    'use server'
    await rotateKey()
  }
  return (
    <form action={rotate}>
      <button type="submit">Rotate</button>
    </form>
  )
}
`,
}

const SAVE = 'save: protectedProcedure.input((text) => String(text).length).mutation(({ input }) => input),\n'

/** Returns the app of docs/nextjs.md, with a mutation that has an input. */
export function readApp(): Map<string, string> {
  const pages = readDocuments().filter(({ path }) => ['README.md', 'docs/nextjs.md'].includes(path))
  const files = new Map<string, string>(Object.entries(FILES))
  for (const { name, code } of pages.flatMap(({ blocks }) => blocks))
    if (name && /\.tsx?$/.test(name)) files.set(name, code.replaceAll(/( from '\.[^']*)\.tsx?'/g, "$1'"))
  const router = files.get('router.ts') ?? ''
  files.set('router.ts', router.replace(/^ {2}rotateKey:/m, `  ${SAVE}$&`))
  const server = files.get('server.ts') ?? ''
  files.set('server.ts', server.replace('createHandler({', '$& maxBodySize: 100_000,'))
  return files
}

/** Writes the app into a folder in the workspace, because Turbopack follows no links out of its root. */
export async function writeApp(settings: object): Promise<string> {
  const folder = mkdtempSync(join(PACKAGE, '.next-app-'))
  const files = readApp()
  const root = fileURLToPath(new URL('../../../..', import.meta.url))
  files.set('next.config.ts', `export default ${JSON.stringify({ turbopack: { root }, ...settings })}\n`)
  files.set('tsconfig.json', JSON.stringify(TSCONFIG))
  files.set('package.json', '{ "private": true }')
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  await installLibraries(folder)
  // Next.js checks types with the API of TypeScript, which version 7 lacks.
  symlinkSync(
    join(PACKAGE, 'node_modules/typescript-5.9'),
    join(folder, 'node_modules/typescript'),
    'junction',
  )
  return folder
}
