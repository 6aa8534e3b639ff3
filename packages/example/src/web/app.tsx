import { Theme } from '@radix-ui/themes'
import { AuthLoading, AuthProvider, SignedIn, SignedOut } from '@sallyport/trpc/react'
import { type QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { Navigate, Route as RouterRoute, Routes } from 'react-router'
import { type Clients, TRPCProvider, useAppAuth, useIsBanned, useTRPC } from './clients.ts'
import { EndedProvider } from './ended.tsx'
import { Layout } from './layout.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { HOME, type Route, routes } from './routes.tsx'
import { PageHeading } from './ui/page-heading.tsx'

export interface AppProps extends Clients {
  readonly queryClient: QueryClient
}

/** Everything below a router. Whatever shows a user's data stands below `AuthProvider`, which builds it anew for another user. */
export function App({ authClient, trpcClient, queryClient }: AppProps) {
  return (
    <Theme accentColor="indigo" grayColor="slate" radius="large">
      <QueryClientProvider client={queryClient}>
        <EndedProvider authClient={authClient}>
          <AuthProvider client={authClient} queryClient={queryClient}>
            <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
              <Layout>
                <Routes>
                  {routes.map((route) => (
                    <RouterRoute key={route.path} path={route.path} element={<Page route={route} />} />
                  ))}
                  <RouterRoute path="/" element={<Navigate to={HOME} replace />} />
                  <RouterRoute path="*" element={<PageHeading title="There is no such page" />} />
                </Routes>
              </Layout>
            </TRPCProvider>
          </AuthProvider>
        </EndedProvider>
      </QueryClientProvider>
    </Theme>
  )
}

/** A page for whom it is meant. It changes by itself when the user does, here or in another tab. */
function Page({ route: { audience, element, title } }: { readonly route: Route }) {
  useEffect(() => {
    document.title = `${title} – Sallyport`
  }, [title])
  const isBanned = useIsBanned()
  if (audience === 'anyone') return element
  if (isBanned) return <Banned />
  if (audience === 'strangers')
    return (
      <>
        <SignedIn>
          <Navigate to={HOME} replace />
        </SignedIn>
        <SignedOut>{element}</SignedOut>
        <AuthLoading>
          <Moment />
        </AuthLoading>
      </>
    )
  return (
    <>
      <SignedIn>{audience === 'admins' ? <ForAdmins>{element}</ForAdmins> : element}</SignedIn>
      <SignedOut>
        <SignIn />
      </SignedOut>
      <AuthLoading>
        <Moment />
      </AuthLoading>
    </>
  )
}

/** What is shown is convenience: the server guards every procedure. */
function ForAdmins({ children }: { readonly children: ReactNode }) {
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions())
  if (me === undefined) return <Moment />
  if (me.role !== 'admin')
    return (
      <PageHeading title="For admins">You are not one. Sign out to come back as somebody else.</PageHeading>
    )
  return children
}

/** The session is still there: the page comes back when the ban is lifted. */
function Banned() {
  return (
    <PageHeading title="This account is banned">
      Notes and finished reports are kept. What was being written or sent has stopped.
    </PageHeading>
  )
}

function Moment() {
  const { status } = useAppAuth()
  return <PageHeading title={status === 'signing-out' ? 'Signing out …' : 'One moment …'} />
}
