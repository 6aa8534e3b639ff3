import type { TestAuth } from '@sallyport/core/testing'
import {
  authAwareRetry,
  authLink,
  createAuthClient,
  subscriptionLink,
  webSocketLink,
} from '@sallyport/trpc/client'
import { AuthProvider, SignedIn, SignedOut, useAuth } from '@sallyport/trpc/react'
import {
  type DehydratedState,
  HydrationBoundary,
  QueryClient,
  QueryClientProvider,
} from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { createTRPCReact } from '@trpc/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { createRoot } from 'react-dom/client'
import superjson from 'superjson'
import type { SuperjsonRouter } from '../superjson-router.ts'

const authClient = createAuthClient<TestAuth['api']>()
const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 60_000, ...authAwareRetry },
  },
})
const trpc = createTRPCReact<SuperjsonRouter>()
const options = { url: '/trpc', transformer: superjson }
const trpcClient = createTRPCClient<SuperjsonRouter>({
  links: [
    authLink(authClient),
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: splitLink({
        condition: ({ path }) => path === 'socketClock',
        true: webSocketLink(authClient, { ...options, url: `ws://${location.host}/trpc` }),
        false: subscriptionLink(authClient, options),
      }),
      false: httpBatchLink({ ...options, fetch: authClient.fetch, maxItems: 20 }),
    }),
  ],
})

function Summary(): ReactNode {
  const [{ userId, expiresAt, totals }] = trpc.summary.useSuspenseQuery()
  return (
    <output id="summary">
      {userId} {expiresAt.getUTCFullYear()} {String(totals.get('notes'))}
    </output>
  )
}

function Notes(): ReactNode {
  const notes = trpc.notes.useInfiniteQuery({}, { getNextPageParam: ({ next }) => next })
  const days = notes.data?.pages.flatMap((page) => [...page.days])
  return (
    <>
      <output id="notes">{days?.map((day) => day.getUTCDate()).join(', ')}</output>
      <button type="button" onClick={() => notes.fetchNextPage()}>
        More
      </button>
    </>
  )
}

function Clock({ name }: { name: 'clock' | 'socketClock' }): ReactNode {
  const [at, setAt] = useState<Date>()
  trpc[name].useSubscription(undefined, { onData: (tick) => setAt(tick.at) })
  return <output id={name}>{at?.getUTCHours()}</output>
}

function Save(): ReactNode {
  const utils = trpc.useUtils()
  const save = trpc.save.useMutation({ onSettled: () => utils.summary.invalidate() })
  return (
    <>
      <output id="save">{save.error?.data?.details?.get('since')?.getUTCDate()}</output>
      <button type="button" onClick={() => save.mutate({ at: new Date() })}>
        Save
      </button>
    </>
  )
}

function Page(): ReactNode {
  const { signOut } = useAuth()
  return (
    <>
      <SignedIn>
        <Suspense fallback="One moment">
          <Summary />
        </Suspense>
        <Notes />
        <Clock name="clock" />
        <Clock name="socketClock" />
        <Save />
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </SignedIn>
      <SignedOut>Signed out</SignedOut>
    </>
  )
}

declare global {
  /** The queries that the server put into the page. */
  var queries: ReturnType<typeof superjson.serialize> | undefined
}

const prefetched = globalThis.queries && superjson.deserialize<DehydratedState>(globalThis.queries)
createRoot(document.body.appendChild(document.createElement('div'))).render(
  <QueryClientProvider client={queryClient}>
    <AuthProvider client={authClient} queryClient={queryClient}>
      <trpc.Provider client={trpcClient} queryClient={queryClient}>
        <HydrationBoundary state={prefetched}>
          <Page />
        </HydrationBoundary>
      </trpc.Provider>
    </AuthProvider>
  </QueryClientProvider>,
)

/** Returns the data in the cache. */
export const cached = (): number => queryClient.getQueryCache().getAll().length
