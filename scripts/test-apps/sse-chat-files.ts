import type { Edits } from './edit-files.ts'

const CONTEXT = `import type { FetchCreateContextFnOptions } from '@trpc/server/adapters/fetch'

export const createContext = async (_opts: FetchCreateContextFnOptions) => {
  return { startedAt: Date.now() }
}

export type Context = Awaited<ReturnType<typeof createContext>>
`

const TRPC = `import { initTRPC } from '@trpc/server'
import superjson from 'superjson'
import type { Context } from './context'

const t = initTRPC.context<Context>().create({
  transformer: superjson,
  errorFormatter({ shape }) {
    return shape
  },
  sse: {
    ping: { enabled: true, intervalMs: 3_000 },
    client: { reconnectAfterInactivityMs: 5_000 },
  },
})

/** Creates a router. */
export const router = t.router

/** A procedure for everyone. */
export const publicProcedure = t.procedure
`

const POST_ROUTER = `import { EventEmitter, on } from 'node:events'
import { tracked } from '@trpc/server'
import { publicProcedure, router } from '../trpc'

interface Post {
  readonly id: number
  readonly author: string
  readonly channel: string
  readonly text: string
}

const posts: Post[] = []
const added = new EventEmitter().setMaxListeners(0)
const parsePost = (value: unknown): Pick<Post, 'channel' | 'text'> => {
  const { channel, text } = Object(value)
  return { channel: String(channel), text: String(text) }
}
const parseChannel = (value: unknown): { channel: string; lastEventId: number } => {
  const { channel, lastEventId } = Object(value)
  return { channel: String(channel), lastEventId: Number(lastEventId ?? 0) }
}

export const postRouter = router({
  add: publicProcedure.input(parsePost).mutation(({ input }) => {
    const post = { id: posts.length + 1, author: 'guest', ...input }
    posts.push(post)
    added.emit(post.channel, post)
    return post
  }),
  onAdd: publicProcedure.input(parseChannel).subscription(async function* ({ input, signal }) {
    // Listen before reading, or a post between the two is lost.
    const later: AsyncIterable<Post[]> = on(added, input.channel, { signal })
    const missed = posts.filter(({ id, channel }) => channel === input.channel && id > input.lastEventId)
    for (const post of missed) yield tracked(String(post.id), post)
    for await (const [post] of later) if (post) yield tracked(String(post.id), post)
  }),
})
`

const ROUTE = `/** Serves the router. */
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { createContext } from '@/server/context'
import { appRouter } from '@/server/routers/_app'

const handler = (req: Request) =>
  fetchRequestHandler({
    router: appRouter,
    req,
    endpoint: '/api/trpc',
    /** Called for each request. */
    createContext,
    onError({ error }) {
      // Report it here.
      if (error.code === 'INTERNAL_SERVER_ERROR') console.error('Failed:', error)
    },
  })

export const GET = handler
export const POST = handler
`

const PROVIDERS = `'use client'

import type { QueryClient } from '@tanstack/react-query'
import { QueryClientProvider } from '@tanstack/react-query'
import { createTRPCClient, httpBatchStreamLink, httpSubscriptionLink, loggerLink, splitLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import { useState } from 'react'
import superjson from 'superjson'
import { createQueryClient } from '../lib/query-client'
import type { AppRouter } from '../server/routers/_app'

export const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>()

let inBrowser: QueryClient | undefined
const getQueryClient = () => {
  if (typeof window === 'undefined') return createQueryClient()
  return (inBrowser ??= createQueryClient())
}

const getUrl = () => \`\${typeof window === 'undefined' ? 'http://localhost:3000' : location.origin}/api/trpc\`

export function TRPCProviders(props: Readonly<{ children: React.ReactNode }>) {
  const queryClient = getQueryClient()
  const [trpcClient] = useState(() =>
    createTRPCClient<AppRouter>({
      links: [
        loggerLink({ enabled: () => false }),
        splitLink({
          condition: (op) => op.type === 'subscription',
          true: httpSubscriptionLink({
            url: getUrl(),
            transformer: superjson,
          }),
          false: httpBatchStreamLink({
            url: getUrl(),
            transformer: superjson,
          }),
        }),
      ],
    }),
  )
  return (
    <QueryClientProvider client={queryClient}>
      <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
        {props.children}
      </TRPCProvider>
    </QueryClientProvider>
  )
}
`

const CHAT = `'use client'

import { useMutation } from '@tanstack/react-query'
import { useSubscription } from '@trpc/tanstack-react-query'
import { type FormEvent, useState } from 'react'
import { useTRPC } from '../../providers'

export function Chat({ channel }: { channel: string }) {
  const trpc = useTRPC()
  const [posts, setPosts] = useState<{ id: number; author: string; text: string }[]>([])
  const add = useMutation(trpc.post.add.mutationOptions())
  const live = useSubscription(
    trpc.post.onAdd.subscriptionOptions(
      { channel, lastEventId: 0 },
      {
        onData({ data }) {
          setPosts((all) => (all.some(({ id }) => id === data.id) ? all : [...all, data]))
        },
      },
    ),
  )

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text'))
    event.currentTarget.reset()
    add.mutate({ channel, text })
  }

  return (
    <>
      <p>{live.status}</p>
      <ul>
        {posts.map(({ id, author, text }) => (
          <li key={id}>
            {author}: {text}
          </li>
        ))}
      </ul>
      <form onSubmit={submit}>
        <input name="text" aria-label="Text" />
      </form>
    </>
  )
}
`

const PAGE = 'app/channels/[channelId]/page.tsx'

/** A chat without authentication, with the files that tRPC's example has. */
export const UNGUARDED_CHAT: Edits = {
  'server/context.ts': CONTEXT,
  'server/trpc.ts': TRPC,
  'server/routers/post.ts': POST_ROUTER,
  'server/routers/_app.ts': `import { publicProcedure, router } from '../trpc'
import { postRouter } from './post'

export const appRouter = router({
  healthcheck: publicProcedure.query(() => 'ok'),
  post: postRouter,
})

export type AppRouter = typeof appRouter
`,
  'lib/query-client.ts': `import { QueryClient } from '@tanstack/react-query'

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 30_000,
      },
    },
  })
`,
  'app/api/trpc/[trpc]/route.ts': ROUTE,
  'app/providers.tsx': PROVIDERS,
  'app/layout.tsx': `import type { ReactNode } from 'react'
import { TRPCProviders } from './providers'

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <TRPCProviders>{children}</TRPCProviders>
      </body>
    </html>
  )
}
`,
  'app/channels/[channelId]/chat.tsx': CHAT,
  [PAGE]: `import { Chat } from './chat'

export default async function ChannelPage({ params }: { params: Promise<{ channelId: string }> }) {
  const { channelId } = await params
  return <Chat channel={channelId} />
}
`,
}

/** The lines by hand: the guards of the procedures, and the one of the page. */
export const GUARDS: Edits = {
  'server/routers/post.ts': [
    ['{ publicProcedure, router }', '{ protectedProcedure, router }'],
    ['add: publicProcedure', 'add: protectedProcedure'],
    ['onAdd: publicProcedure', 'onAdd: protectedProcedure'],
    ['mutation(({ input })', 'mutation(({ ctx, input })'],
    ["author: 'guest'", 'author: ctx.user.name'],
    ['{ input, signal }', '{ ctx, input }'],
    ['{ signal }', '{ signal: ctx.auth.signal }'],
  ],
  [PAGE]: [
    [
      "import { Chat } from './chat'",
      `import { Hydrated } from '@sallyport/trpc/next'
import { redirect } from 'next/navigation'
import { getPage } from '@/server/next'
import { Chat } from './chat'`,
    ],
    [
      '  return <Chat channel={channelId} />',
      `  const page = await getPage()
  if (page.state.status === 'unauthenticated') redirect('/')
  return (
    <Hydrated user={page.state}>
      <Chat channel={channelId} />
    </Hydrated>
  )`,
    ],
  ],
}

/** Procedures, and functions for pages, that `proveApp` needs. */
export const PROOFS: Edits = {
  'server/next.ts': [['router: appRouter,', 'router: appRouter,\n  maxBodySize: 100_000,']],
  'server/routers/_app.ts': [
    ['{ publicProcedure,', '{ protectedProcedure, publicProcedure,'],
    [
      'post: postRouter,',
      `post: postRouter,
  me: protectedProcedure.query(({ ctx }) => ctx.user),
  save: protectedProcedure.input((text) => String(text).length).mutation(({ input }) => input),
  ticks: protectedProcedure.subscription(async function* ({ signal }) {
    for (let tick = 1; !signal?.aborted; tick++) {
      yield tick
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }),`,
    ],
  ],
  'server/pages.ts': `import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { cache } from 'react'
import { createQueryClient } from '../lib/query-client'
import { pageContext } from './next'
import { appRouter } from './routers/_app'

export { getPage } from './next'
export const getQueryClient = cache(createQueryClient)
export const trpc = createTRPCOptionsProxy({ router: appRouter, ctx: pageContext, queryClient: getQueryClient })
`,
}

/** The pages of the guide that `proveApp` needs. */
export const PROOF_PAGES: readonly string[] = [
  'app/expose.tsx',
  'app/page.tsx',
  'app/me/me.tsx',
  'app/me/page.tsx',
]
