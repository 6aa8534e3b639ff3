import { editFiles } from './edit-files.ts'

const HOME = `import { createFileRoute } from '@tanstack/react-router'

export const Route = createFileRoute('/')({ component: () => <p>Home</p> })
`

const HEADER = `import { useAuth } from '@sallyport/trpc/react'
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { fail } from '../fail.ts'
import { rotateKey } from '../rotate-key.ts'

export default function Header() {
  const { client } = useAuth()
  const router = useRouter()
  const push = (to: string) => router.navigate({ to })
  useEffect(() => {
    const { queryClient } = router.options.context
    Object.assign(window, { client, router: { push }, fail, rotateKey, queryClient })
  })
  return null
}
`

/** A query that suspends and isn't prefetched. */
const SLOW = `import { SignedIn } from '@sallyport/trpc/react'
import { useSuspenseQuery } from '@tanstack/react-query'
import { createFileRoute } from '@tanstack/react-router'
import { Suspense } from 'react'
import { useTRPC } from '../integrations/trpc/react.ts'

export const Route = createFileRoute('/slow')({
  component: () => (
    <SignedIn>
      <Suspense fallback={<p>Waiting</p>}>
        <Slow />
      </Suspense>
    </SignedIn>
  ),
})

function Slow() {
  const { data } = useSuspenseQuery(useTRPC().slow.queryOptions())
  return <p>{data}</p>
}
`

/** User data from a loader. */
const LOADED = `import { createFileRoute } from '@tanstack/react-router'
import { createServerFn } from '@tanstack/react-start'
import { getRequest } from '@tanstack/react-start/server'
import { pageContext, serverAuth } from '../context.ts'
import { trpcRouter } from '../integrations/trpc/router.ts'

const loadEmail = createServerFn().handler(async () => {
  const { headers } = await serverAuth(getRequest())
  const caller = trpcRouter.createCaller(pageContext(headers))
  return caller.slow().catch(() => 'no user')
})

export const Route = createFileRoute('/loaded')({
  loader: () => loadEmail(),
  component: () => <p>Loaded {Route.useLoaderData()}</p>,
})
`

/** A server function that throws. */
const FAIL = `import { createServerFn } from '@tanstack/react-start'

export const fail = createServerFn({ method: 'POST' }).handler(async () => {
  throw new Error('Failed')
})
`

/** A server route that throws. */
const FAILING = `import { createFileRoute } from '@tanstack/react-router'

const fail = () => {
  throw new Error('Failed')
}
export const Route = createFileRoute('/failing')({ server: { handlers: { GET: fail } } })
`

const PROCEDURES = `  me: protectedProcedure.query(({ ctx }) => ctx.user),
  rotateKey: protectedProcedure.mutation(({ ctx }) => ctx.user.email),
  slow: protectedProcedure.query(async ({ ctx }) => {
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    return \`slow \${ctx.user.email}\`
  }),
  save: protectedProcedure.input(z.string()).mutation(({ input }) => input.length),
  ticks: protectedProcedure.subscription(async function* () {
    for (let i = 1; ; i++) {
      yield i
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }),
`

/** Adds what the proofs use to the files of the guide. */
export function writeStartPages(cwd: string, guide: ReadonlyMap<string, string>): void {
  editFiles(cwd, {
    'src/routes/index.tsx': HOME,
    'src/routes/slow.tsx': SLOW,
    'src/routes/loaded.tsx': LOADED,
    'src/components/Header.tsx': HEADER,
    'src/fail.ts': FAIL,
    'src/routes/failing.ts': FAILING,
    'src/routes/me.tsx': guide.get('src/routes/me.tsx') ?? '',
    'src/rotate-key.ts': guide.get('src/rotate-key.ts') ?? '',
  })
  editFiles(cwd, {
    'src/routes/me.tsx': [
      [
        'import { useTRPC }',
        "import { useSubscription } from '@trpc/tanstack-react-query'\nimport { useTRPC }",
      ],
      ['  return <p>{data.email}</p>', SHOWN],
    ],
    'src/integrations/trpc/router.ts': [
      ['createTRPCRouter, publicProcedure', 'createTRPCRouter, protectedProcedure, publicProcedure'],
      ['  todos: todosRouter,\n', `  todos: todosRouter,\n${PROCEDURES}`],
    ],
    'src/context.ts': [["endpoint: '/api/trpc'", "endpoint: '/api/trpc', maxBodySize: 100_000"]],
    'vite.config.ts': [
      ['  plugins: [', '  server: { port: Number(process.env.PORT), strictPort: true },\n  plugins: ['],
    ],
    // It is on another network.
    'src/styles.css': [
      ['@import url("https://fonts.googleapis.com', '/* @import url("https://fonts'],
      ['family=Manrope:wght@400;500;600;700;800&display=swap");', '"); */'],
    ],
  })
}

const SHOWN = `  const ticks = useSubscription(useTRPC().ticks.subscriptionOptions())
  return (
    <>
      <p>{data.email}</p>
      <p>tick {ticks.data}</p>
    </>
  )`
