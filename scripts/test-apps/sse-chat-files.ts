import type { Edits } from './edit-files.ts'

const ROUTES = (procedure: string, author: string, signal: string) => `
  post: t.router({
    add: ${procedure}.input(parsePost).mutation(({ ctx, input }) => {
      const post = { id: posts.length + 1, author: ${author}, ...input }
      posts.push(post)
      added.emit(post.channel, post)
      return post
    }),
    onAdd: ${procedure}.input(parseChannel).subscription(async function* ({ ctx, input, signal }) {
      // Listen before reading, or a post between the two is lost.
      const later: AsyncIterable<Post[]> = on(added, input.channel, { signal: ${signal} })
      const missed = posts.filter(({ id, channel }) => channel === input.channel && id > input.lastEventId)
      for (const post of missed) yield tracked(String(post.id), post)
      for await (const [post] of later) if (post) yield tracked(String(post.id), post)
    }),
  }),
`

const POSTS = `
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
`

const IMPORTS = `import { EventEmitter, on } from 'node:events'
import { initTRPC, tracked } from '@trpc/server'`

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

/** Adds the chat to the app of docs/nextjs.md. */
export const CHAT_FILES: Edits = {
  'router.ts': [
    [`import { initTRPC } from '@trpc/server'`, IMPORTS],
    [`const t = `, `${POSTS}\nconst t = `],
    [`\n  me: `, `${ROUTES('protectedProcedure', 'ctx.user.name', 'ctx.auth.signal')}  me: `],
  ],
  'app/channels/[channelId]/chat.tsx': CHAT,
  [PAGE]: `import { Hydrated } from '@sallyport/trpc/next'
import { dehydrate } from '@tanstack/react-query'
import { redirect } from 'next/navigation'
import { getPage, getQueryClient } from '../../../server'
import { Chat } from './chat'

export default async function ChannelPage({ params }: { params: Promise<{ channelId: string }> }) {
  const { channelId } = await params
  const page = await getPage()
  if (page.state.status === 'unauthenticated') redirect('/')
  return (
    <Hydrated user={page.state} state={dehydrate(getQueryClient())}>
      <Chat channel={channelId} />
    </Hydrated>
  )
}
`,
}

/** The chat without authentication: only to count the lines that change. */
export const UNGUARDED_CHAT: Edits = {
  'router.ts': `${IMPORTS}
${POSTS}
const t = initTRPC.create()
export const appRouter = t.router({${ROUTES('t.procedure', "'anonymous'", 'signal')}})
export type AppRouter = typeof appRouter
`,
  'app/api/[...path]/route.ts': `import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { appRouter } from '../../../router'

const handle = (req: Request) => fetchRequestHandler({ endpoint: '/api/trpc', req, router: appRouter })
export { handle as GET, handle as POST }
`,
  'app/providers.tsx': `'use client'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import type { ReactNode } from 'react'
import type { AppRouter } from '../router'

export const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>()

function createClients() {
  const links = [splitLink({
  condition: ({ type }) => type === 'subscription',
  true: httpSubscriptionLink({ url: '/api/trpc' }),
  false: httpBatchLink({ url: '/api/trpc' }),
})]
  const queryClient = new QueryClient()
  return { trpcClient: createTRPCClient<AppRouter>({ links }), queryClient }
}

let inBrowser: ReturnType<typeof createClients> | undefined

export function Providers({ children }: { children: ReactNode }) {
  // On the server, new for each page.
  const clients = inBrowser ?? createClients()
  if (typeof window !== 'undefined') inBrowser = clients
  return (
    <QueryClientProvider client={clients.queryClient}>
        <TRPCProvider {...clients}>{children}</TRPCProvider>
    </QueryClientProvider>
  )
}
`,
  'app/layout.tsx': `import { type ReactNode } from 'react'
import { Providers } from './providers'

const RootLayout = ({ children }: { children: ReactNode }) => (
  <html lang="en">
    <body>
      <Providers>{children}</Providers>
    </body>
  </html>
)
export default RootLayout
`,
  'app/channels/[channelId]/chat.tsx': CHAT,
  [PAGE]: `import { Chat } from './chat'

export default async function ChannelPage({ params }: { params: Promise<{ channelId: string }> }) {
  const { channelId } = await params
  return <Chat channel={channelId} />
}
`,
}
