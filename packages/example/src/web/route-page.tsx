import { AuthLoading, SignedIn, SignedOut } from '@sallyport/trpc/react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Navigate, useLocation, useSearchParams } from 'react-router'
import { useAppAuth, useIsBanned, useTRPC } from './clients.ts'
import { nextPath } from './match-page.ts'
import { AdminsOnly } from './pages/admins-only.tsx'
import { BanNotice, Banned } from './pages/banned.tsx'
import { SignIn } from './pages/sign-in.tsx'
import type { Route } from './routes.tsx'
import { Loaded } from './ui/loaded.tsx'
import { Loading } from './ui/loading.tsx'
import { PageHeading } from './ui/page-heading.tsx'
import { useTitle } from './use-title.ts'

/**
 * A page for its audience. Others see why they can't use it. It follows the user, also when another tab
 * changes them.
 */
export function RoutePage({ route: { audience, element, title } }: { readonly route: Route }) {
  useTitle(title)
  const isBanned = useIsBanned()
  if (audience === 'anyone')
    return (
      <>
        {isBanned && <BanNotice />}
        {element}
      </>
    )
  if (isBanned) return <Banned />
  const isForGuests = audience === 'guests'
  const page = audience === 'admins' ? <RequireAdmin title={title}>{element}</RequireAdmin> : element
  return (
    <>
      <SignedIn>{isForGuests ? <LeaveGuestPage /> : page}</SignedIn>
      <SignedOut>{isForGuests ? element : <SignIn />}</SignedOut>
      <AuthLoading>
        <Pending title={title} />
      </AuthLoading>
    </>
  )
}

function LeaveGuestPage() {
  const [search] = useSearchParams()
  const { hash } = useLocation()
  return <Navigate to={`${nextPath(search.get('next'))}${hash}`} replace />
}

/** Hides the page from other users. The server checks the role in every procedure. */
function RequireAdmin({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const trpc = useTRPC()
  const query = useQuery(trpc.me.queryOptions())
  return (
    <Loaded query={query} what="your account">
      {(me) => (me.role === 'admin' ? children : <AdminsOnly title={title} />)}
    </Loaded>
  )
}

function Pending({ title }: { readonly title: string }) {
  const { status } = useAppAuth()
  if (status === 'signing-out') return <PageHeading title="Signing out …" />
  return (
    <>
      <PageHeading title={title} />
      <Loading what="your session" />
    </>
  )
}
