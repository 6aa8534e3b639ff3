import type { PrefetchOptions } from '@sallyport/trpc/ssr'
import type { TRPCOptionsProxy } from '@trpc/tanstack-react-query'
import type { ReactNode } from 'react'
import type { AppRouter } from '../routers/app.ts'
import { auditFilters } from './admin/audit-filters.ts'
import { userFilters } from './admin/user-filters.ts'
import { Account } from './pages/account.tsx'
import { Admin } from './pages/admin.tsx'
import { Audit } from './pages/audit.tsx'
import { EmailLink } from './pages/email-link.tsx'
import { ForgotPassword } from './pages/forgot-password.tsx'
import { Gate } from './pages/gate.tsx'
import { Join } from './pages/join.tsx'
import { Notes } from './pages/notes.tsx'
import { Organizations } from './pages/organizations.tsx'
import { Reports } from './pages/reports.tsx'
import { ResetPassword } from './pages/reset-password.tsx'
import { Sessions } from './pages/sessions.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { SignUp } from './pages/sign-up.tsx'
import { UndoEmailChange } from './pages/undo-email-change.tsx'
import { User } from './pages/user.tsx'
import { VerifyEmail } from './pages/verify-email.tsx'

/** The parameters in the path of a page, and its query. */
export interface PageUrl {
  readonly params: Readonly<Record<string, string | undefined>>
  readonly search: URLSearchParams
}

/** A page of the app. */
export interface Route {
  readonly path: string
  readonly title: string
  /** The users who see it. For others, the sign-in form takes its place. Guests aren't signed in. */
  readonly audience: 'anyone' | 'guests' | 'users' | 'admins'
  readonly element: ReactNode
  /** Whether the navigation links to it. @default true */
  readonly isLinked?: boolean
  /** The queries that the server fetches before it renders the page. */
  readonly queries?: (trpc: TRPCOptionsProxy<AppRouter>, url: PageUrl) => readonly PrefetchOptions[]
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
    path: '/reports',
    title: 'Reports',
    audience: 'users',
    element: <Reports />,
    queries: (trpc) => [trpc.report.list.queryOptions()],
  },
  {
    path: '/organizations',
    title: 'Organizations',
    audience: 'users',
    element: <Organizations />,
    queries: (trpc) => [
      trpc.organizations.list.queryOptions(),
      trpc.organizations.members.queryOptions(),
      trpc.demo.queryOptions(),
    ],
  },
  {
    path: '/sessions',
    title: 'Sessions',
    audience: 'users',
    element: <Sessions />,
    queries: (trpc) => [trpc.sessions.list.queryOptions()],
  },
  {
    path: '/account',
    title: 'Account',
    audience: 'users',
    element: <Account />,
    queries: (trpc) => [
      trpc.demo.queryOptions(),
      trpc.waysToSignIn.queryOptions(),
      trpc.sessions.list.queryOptions(),
    ],
  },
  {
    path: '/admin',
    title: 'Users',
    audience: 'admins',
    element: <Admin />,
    queries: (trpc, { search }) => [trpc.admin.users.queryOptions(userFilters(search))],
  },
  {
    path: '/admin/users/:id',
    title: 'User',
    audience: 'admins',
    isLinked: false,
    element: <User />,
    queries: (trpc, { params: { id: userId = '' } }) => [
      trpc.admin.user.queryOptions({ userId }),
      trpc.admin.sessions.queryOptions({ userId }),
      trpc.admin.factors.queryOptions({ userId }),
    ],
  },
  {
    path: '/admin/audit',
    title: 'Audit trail',
    audience: 'admins',
    element: <Audit />,
    queries: (trpc, { search }) => [trpc.admin.audit.queryOptions(auditFilters(search))],
  },
  {
    path: '/gate',
    title: 'Gate',
    audience: 'anyone',
    element: <Gate />,
    queries: (trpc) => [trpc.gate.inspect.queryOptions()],
  },
  { path: '/sign-in', title: 'Sign in', audience: 'guests', element: <SignIn /> },
  { path: '/sign-up', title: 'Sign up', audience: 'guests', element: <SignUp /> },
  {
    path: '/forgot-password',
    title: 'Forgot password',
    audience: 'anyone',
    isLinked: false,
    element: <ForgotPassword />,
    queries: (trpc) => [trpc.demo.queryOptions()],
  },
  // The links in emails and invitations.
  {
    path: '/email-link',
    title: 'Sign in by email',
    audience: 'guests',
    isLinked: false,
    element: <EmailLink />,
  },
  { path: '/join', title: 'Invitation', audience: 'users', isLinked: false, element: <Join /> },
  {
    path: '/reset-password',
    title: 'New password',
    audience: 'anyone',
    isLinked: false,
    element: <ResetPassword />,
  },
  {
    path: '/verify-email',
    title: 'Confirm your email',
    audience: 'anyone',
    isLinked: false,
    element: <VerifyEmail />,
  },
  {
    path: '/undo-email-change',
    title: 'Undo the email change',
    audience: 'anyone',
    isLinked: false,
    element: <UndoEmailChange />,
  },
]
