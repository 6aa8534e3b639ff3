import { useQuery } from '@tanstack/react-query'
import { NavLink } from 'react-router'
import { useAppAuth, useTRPC } from './clients.ts'
import { type Route, routes } from './routes.tsx'

/** Where one can go. */
export function Navigation() {
  const { isAuthenticated } = useAppAuth()
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions(undefined, { enabled: isAuthenticated }))
  const isFor: Readonly<Record<Route['audience'], boolean>> = {
    anyone: true,
    strangers: !isAuthenticated,
    users: isAuthenticated,
    admins: me?.role === 'admin',
  }
  return (
    <nav className="navigation" aria-label="Pages">
      {routes
        .filter(({ audience }) => isFor[audience])
        .map(({ path, title }) => (
          <NavLink key={path} to={path}>
            {title}
          </NavLink>
        ))}
    </nav>
  )
}
