import type { PrefetchOptions } from '@sallyport/trpc/ssr'
import type { TRPCOptionsProxy } from '@trpc/tanstack-react-query'
import type { ReactNode } from 'react'
import type { AppRouter } from '../routers/app.ts'
import { Account } from './pages/account.tsx'
import { Admin } from './pages/admin.tsx'
import { Gate } from './pages/gate.tsx'
import { Notes } from './pages/notes.tsx'
import { Reports } from './pages/reports.tsx'
import { Sessions } from './pages/sessions.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { SignUp } from './pages/sign-up.tsx'

/** A page of the app. */
export interface Route {
  readonly path: string
  readonly title: string
  /** Who sees it; others see the sign-in. */
  readonly audience: 'anyone' | 'strangers' | 'users' | 'admins'
  readonly element: ReactNode
  /** What is fetched on the server, so that the page comes with its rows. */
  readonly queries?: (trpc: TRPCOptionsProxy<AppRouter>) => readonly PrefetchOptions[]
}

export const HOME = '/notes'

/** In the order of the navigation. */
export const routes: readonly Route[] = [
  {
    path: HOME,
    title: 'Notes',
    audience: 'users',
    element: <Notes />,
    queries: (trpc) => [trpc.notes.list.queryOptions()],
  },
  {
    path: '/sessions',
    title: 'Sessions',
    audience: 'users',
    element: <Sessions />,
    queries: (trpc) => [trpc.sessions.list.queryOptions()],
  },
  { path: '/account', title: 'Account', audience: 'users', element: <Account /> },
  {
    path: '/reports',
    title: 'Reports',
    audience: 'users',
    element: <Reports />,
    queries: (trpc) => [trpc.report.list.queryOptions()],
  },
  {
    path: '/admin',
    title: 'Admin',
    audience: 'admins',
    element: <Admin />,
    queries: (trpc) => [trpc.admin.users.queryOptions(), trpc.admin.audit.queryOptions()],
  },
  {
    path: '/gate',
    title: 'Gate',
    audience: 'anyone',
    element: <Gate />,
    queries: (trpc) => [trpc.gate.look.queryOptions()],
  },
  { path: '/sign-in', title: 'Sign in', audience: 'strangers', element: <SignIn /> },
  { path: '/sign-up', title: 'Sign up', audience: 'strangers', element: <SignUp /> },
]
