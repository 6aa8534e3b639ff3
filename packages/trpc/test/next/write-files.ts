import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SIGN_IN_PAGE } from '../../../core/src/cli/init/next/sign-in-page.ts'
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
  'app/sign-in/page.tsx': SIGN_IN_PAGE,
  'app/about/route.ts': `export const GET = () => new Response('A static page')
`,
  'app/me/me.tsx': `'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { useSubscription } from '@trpc/tanstack-react-query'
import { Expose } from '../expose'
import { useTRPC } from '../providers'

export function Me() {
  const trpc = useTRPC()
  const { data } = useSuspenseQuery(trpc.me.queryOptions())
  const ticks = useSubscription(trpc.ticks.subscriptionOptions())
  return (
    <>
      <p>{data.email}</p>
      <p>tick {ticks.data}</p>
      <Expose />
    </>
  )
}
`,
  'app/expose.tsx': `'use client'
import { useAuth } from '@sallyport/trpc/react'
import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

export function Expose() {
  const { client } = useAuth()
  const router = useRouter()
  useEffect(() => {
    Object.assign(window, { client, router })
  })
  return null
}
`,
  'app/page.tsx': `import { Expose } from './expose'

export default function HomePage() {
  return (
    <>
      <p>Home</p>
      <Expose />
    </>
  )
}
`,
  'app/greet/greet.tsx': `'use client'

import { useQuery } from '@tanstack/react-query'
import { Expose } from '../expose'
import { useTRPC } from '../providers'

export function Greet() {
  const { data } = useQuery(useTRPC().greet.queryOptions())
  return (
    <>
      <p>Hello {data}</p>
      <Expose />
    </>
  )
}
`,
  'app/greet/page.tsx': `import { Hydrated } from '@sallyport/trpc/next'
import { dehydrate } from '@tanstack/react-query'
import { getPage, getQueryClient, trpc } from '../../server'
import { Greet } from './greet'

export default async function GreetPage() {
  const page = await getPage()
  const queryClient = getQueryClient()
  await page.prefetch(queryClient, [trpc.greet.queryOptions()])
  return (
    <>
      <Hydrated user={page.state} state={dehydrate(queryClient)}>
        <p>Rendered for {page.state.status === 'authenticated' ? page.state.userId : 'a guest'}</p>
        <Greet />
      </Hydrated>
      <Hydrated user={page.state} />
    </>
  )
}
`,
  'app/cached/page.tsx': `import { unstable_cache } from 'next/cache'
import { appRouter } from '../../router'
import { getPage, pageContext } from '../../server'

const findMe = unstable_cache(() => appRouter.createCaller(pageContext).me(), ['me'])

export default async function CachedPage() {
  const page = await getPage()
  const text = await findMe().then(({ email }) => email, String)
  return <p>{text} {page === (await getPage()) ? 'one page' : 'two pages'}</p>
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

/** Procedures that the README doesn't have. */
export const PROCEDURES: string = `save: protectedProcedure.input((text) => String(text).length).mutation(({ input }) => input),
  ticks: protectedProcedure.subscription(async function* ({ signal }) {
    for (let tick = 1; !signal?.aborted; tick++) {
      yield tick
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }),
`

const GREET =
  "greet: t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => ctx.user?.email ?? 'guest'),\n"

/** Adds server-sent events to the links. */
const LINKS = `splitLink({
  condition: ({ type }) => type === 'subscription',
  true: subscriptionLink(client, { url: '/api/trpc' }),
  false: $&,
})`

/** Returns the app of docs/nextjs.md, with a page for everyone and more procedures. */
export function readApp(): Map<string, string> {
  const pages = readDocuments().filter(({ path }) => ['README.md', 'docs/nextjs.md'].includes(path))
  const files = new Map<string, string>()
  for (const { name, code } of pages.flatMap(({ blocks }) => blocks))
    if (name && /\.tsx?$/.test(name)) files.set(name, code.replaceAll(/( from '\.[^']*)\.tsx?'/g, "$1'"))
  for (const [name, code] of Object.entries(FILES)) files.set(name, code)
  const router = files.get('router.ts') ?? ''
  files.set(
    'router.ts',
    router
      .replace('import { authErrorData,', '$& optionalSessionMiddleware,')
      .replace(/^ {2}rotateKey:/m, `  ${GREET}  ${PROCEDURES}$&`),
  )
  const auth = files.get('auth.ts') ?? ''
  files.set(
    'auth.ts',
    auth
      .replace(/^import/m, "import { after } from 'next/server.js'\n$&")
      .replace('emailPassword()', 'emailPassword({ sendEmail: async ({ kind }) => console.log(kind) })')
      .replace('plugins:', 'waitUntil: after, $&'),
  )
  const server = files.get('server.ts') ?? ''
  files.set('server.ts', server.replace('createNextAuth({', '$& maxBodySize: 100_000,'))
  const providers = files.get('app/providers.tsx') ?? ''
  files.set(
    'app/providers.tsx',
    providers
      .replace('createAuthClient }', 'createAuthClient, subscriptionLink }')
      .replace('httpBatchLink }', 'httpBatchLink, splitLink }')
      .replace(/httpBatchLink\(.*?\)(?=\])/, LINKS),
  )
  return files
}

/** Replaces `proxy.ts`, which always runs in Node.js. An edge runtime has no database. */
const MIDDLEWARE = `import { createProxy } from '@sallyport/trpc/next'
import { authConfig } from './auth.config'

export const middleware = createProxy({ config: authConfig, token: { url: process.env.BASE_URL ?? '' } })
export const config = { matcher: '/((?!api|_next/static|_next/image|favicon.ico).*)' }
`

interface AppOptions {
  /** The content of `next.config.ts`. @default the file of the folder */
  readonly settings?: object | undefined
  /** Whether the folder needs a `tsconfig.json`. */
  readonly isEmpty?: boolean
  readonly isEdge?: boolean | undefined
}

/** Writes the app into a folder, which has a `package.json` or gets one. */
export function writeFiles(folder: string, { settings, isEmpty = false, isEdge = false }: AppOptions): void {
  const files = readApp()
  if (isEdge) {
    files.set('middleware.ts', MIDDLEWARE)
    files.delete('proxy.ts')
  }
  if (settings) files.set('next.config.ts', `export default ${JSON.stringify(settings)}\n`)
  if (isEmpty) files.set('tsconfig.json', JSON.stringify(TSCONFIG))
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
