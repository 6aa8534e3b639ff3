import type { HydrationState } from '@sallyport/core/internal/protocol'
import type { TestAuth } from '@sallyport/core/testing'
import { authAwareRetry, authLink, createAuthClient, webSocketLink } from '@sallyport/trpc/client'
import {
  AuthLoading,
  AuthProvider,
  SignedIn,
  SignedOut,
  useAuth,
  useSensitive,
  useSession,
} from '@sallyport/trpc/react'
import {
  QueryClient,
  QueryClientProvider,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { createTRPCClient, httpLink, splitLink } from '@trpc/client'
import { createTRPCContext, useSubscription } from '@trpc/tanstack-react-query'
import { type FormEvent, type ReactNode, StrictMode, useEffect, useState } from 'react'
import type { AppRouter } from '../../support/router.ts'

const { TRPCProvider, useTRPC, useTRPCClient } = createTRPCContext<AppRouter>()

/** The parts of an app from {@link createApp}. */
export type App = ReturnType<typeof createApp>

/** Creates the app of docs/react.md, for a browser or a server. */
export function createApp({ hydrate, log = [] }: { hydrate?: HydrationState | undefined; log?: string[] }) {
  const authClient = createAuthClient<TestAuth['api']>({ hydrate })
  const queryClient = new QueryClient({
    defaultOptions: { queries: { ...authAwareRetry } },
  })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [
      authLink(authClient),
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: webSocketLink(authClient, { url: () => `ws://${location.host}/trpc` }),
        false: httpLink({ url: '/trpc', fetch: authClient.fetch }),
      }),
    ],
  })
  const element = (
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
          <AuthProvider client={authClient} queryClient={queryClient}>
            <Pages log={log} />
          </AuthProvider>
        </TRPCProvider>
      </QueryClientProvider>
    </StrictMode>
  )
  /** Another tree of the same page. */
  const island = (
    <StrictMode>
      <AuthProvider client={authClient} queryClient={queryClient}>
        <Profile />
      </AuthProvider>
    </StrictMode>
  )
  return { authClient, queryClient, trpcClient, log, element, island }
}

function Pages({ log }: { log: string[] }): ReactNode {
  const { status, error, isAuthenticated } = useAuth()
  useEffect(() => {
    log.push(`shown: ${status}, ${isAuthenticated}`)
  }, [log, status, isAuthenticated])
  return (
    <>
      <output id="status">{status}</output>
      <output id="error">{error?.code}</output>
      <Draft />
      <AuthLoading>
        <p>One moment</p>
      </AuthLoading>
      <SignedOut>
        <SignIn />
      </SignedOut>
      <SignedIn>
        <Home log={log} />
      </SignedIn>
      <Confirm />
    </>
  )
}

/** Renders the page's own state. */
function Draft(): ReactNode {
  const [text, setText] = useState('')
  return <input aria-label="Draft" value={text} onChange={(event) => setText(event.target.value)} />
}

function SignIn(): ReactNode {
  const { client } = useAuth<App['authClient']>()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    void client.api.signInEmail({ email: String(form.get('email')), password: String(form.get('password')) })
  }
  return (
    <form onSubmit={submit}>
      <input name="email" aria-label="Email" />
      <input name="password" aria-label="Password" type="password" />
      <button type="submit">Sign in</button>
    </form>
  )
}

function Home({ log }: { log: string[] }): ReactNode {
  const { signOut, isAuthenticated } = useAuth()
  const trpc = useTRPC()
  const me = useQuery(trpc.me.queryOptions(undefined, { enabled: isAuthenticated }))
  const clock = useSubscription(trpc.clock.subscriptionOptions(undefined, { enabled: isAuthenticated }))
  useEffect(() => {
    if (me.data !== undefined) log.push(`me: ${me.data}`)
  }, [log, me.data])
  return (
    <>
      <output id="me">{me.data}</output>
      <output id="clock">{clock.data}</output>
      <button type="button" onClick={() => me.refetch()}>
        Refresh
      </button>
      <Rename />
      <Profile />
      <Profile />
      <Payment label="Pay" />
      <Payment label="Pay more" />
      <button type="button" onClick={signOut}>
        Sign out
      </button>
    </>
  )
}

/** Loads the session. Several components do. */
function Profile(): ReactNode {
  const { user, session, error, isPending, refetch } = useSession<App['authClient']>()
  if (isPending) return <p className="profile">Who is it?</p>
  return (
    <p className="profile">
      {user?.name} {session?.id} {error?.code}
      <button type="button" onClick={refetch}>
        Refetch
      </button>
    </p>
  )
}

/** Renders an optimistic change that is restored on failure. */
function Rename(): ReactNode {
  const client = useTRPCClient()
  const queryClient = useQueryClient()
  const key = useTRPC().me.queryKey()
  const rename = useMutation({
    mutationFn: () => client.slowWrite.mutate(),
    retry: authAwareRetry.retry,
    onMutate() {
      const before = queryClient.getQueryData(key)
      queryClient.setQueryData(key, `${before}, renamed`)
      return before
    },
    async onError(_error, _variables, before) {
      await queryClient.cancelQueries({ queryKey: key })
      queryClient.setQueryData(key, before)
    },
  })
  return (
    <button type="button" onClick={() => rename.mutate()}>
      Rename
    </button>
  )
}

function Payment({ label }: { label: string }): ReactNode {
  const client = useTRPCClient()
  const { run } = useSensitive()
  const pay = useMutation({ mutationFn: () => run(() => client.payment.mutate()) })
  return (
    <>
      <button type="button" onClick={() => pay.mutate()}>
        {label}
      </button>
      <output className="payment">{pay.status}</output>
    </>
  )
}

function Confirm(): ReactNode {
  const { isAsking, error, confirm, cancel } = useSensitive()
  if (!isAsking) return null
  return (
    <form
      aria-label="Confirm"
      action={(form: FormData) => confirm({ password: String(form.get('password')) })}
    >
      <input name="password" aria-label="Your password" type="password" />
      <output id="rejection">{error?.code}</output>
      <button type="submit">Confirm</button>
      <button type="button" onClick={cancel}>
        Cancel
      </button>
    </form>
  )
}
