import { useQuery } from '@tanstack/react-query'
import { NavLink } from 'react-router'
import { useAppAuth, useTRPC } from './clients.ts'

const PAGES = [
  { path: '/notes', name: 'Notes' },
  { path: '/sessions', name: 'Sessions' },
  { path: '/account', name: 'Account' },
  { path: '/reports', name: 'Reports' },
]

/** Where one can go. */
export function Navigation() {
  const { isAuthenticated } = useAppAuth()
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions(undefined, { enabled: isAuthenticated }))
  const pages = [
    ...(isAuthenticated ? PAGES : []),
    ...(me?.role === 'admin' ? [{ path: '/admin', name: 'Admin' }] : []),
    { path: '/gate', name: 'Gate' },
    ...(isAuthenticated ? [] : [{ path: '/sign-in', name: 'Sign in' }]),
  ]
  return (
    <nav className="navigation" aria-label="Pages">
      {pages.map(({ path, name }) => (
        <NavLink key={path} to={path}>
          {name}
        </NavLink>
      ))}
    </nav>
  )
}
