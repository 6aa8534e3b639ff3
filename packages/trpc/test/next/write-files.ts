import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readDocuments } from '../documents/read-documents.ts'

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
  'app/me/me.tsx': `'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { useTRPC } from '../providers'

export function Me() {
  const { data } = useSuspenseQuery(useTRPC().me.queryOptions())
  return <p>{data.email}</p>
}
`,
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
function readApp(): Map<string, string> {
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

/** Replaces `proxy.ts`, which always runs in Node.js. An edge runtime has no database. */
const MIDDLEWARE = `import { createProxy } from '@sallyport/trpc/next'
import { authConfig } from './auth.config'

export const middleware = createProxy({ config: authConfig, token: { url: process.env.BASE_URL ?? '' } })
export const config = { matcher: '/((?!api|_next/static|_next/image|favicon.ico).*)' }
`

interface AppOptions {
  /** The content of `next.config.ts`. */
  readonly settings: object
  readonly isEdge?: boolean
}

/** Writes the app into a folder, which has a `package.json` or gets one. */
export function writeFiles(folder: string, { settings, isEdge = false }: AppOptions): void {
  const files = readApp()
  if (isEdge) {
    files.set('middleware.ts', MIDDLEWARE)
    files.delete('proxy.ts')
  }
  files.set('next.config.ts', `export default ${JSON.stringify(settings)}\n`)
  files.set('tsconfig.json', JSON.stringify(TSCONFIG))
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
