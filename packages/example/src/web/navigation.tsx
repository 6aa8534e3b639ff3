import { useQuery } from '@tanstack/react-query'
import { NavLink } from 'react-router'
import { useAppAuth, useIsBanned, useTRPC } from './clients.ts'
import { type Route, routes } from './routes.tsx'

/** Links to the pages that the user may see. */
export function Navigation() {
  const { status, isAuthenticated } = useAppAuth()
  const isBanned = useIsBanned()
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions(undefined, { enabled: isAuthenticated }))
  const isVisible: Readonly<Record<Route['audience'], boolean>> = {
    anyone: true,
    guests: status === 'unauthenticated',
    users: isAuthenticated && !isBanned,
    admins: !isBanned && me?.role === 'admin',
  }
  return (
    <nav className="navigation" aria-label="Pages">
      {routes
        .filter(({ audience, isLinked = true }) => isLinked && isVisible[audience])
        .map(({ path, title }) => (
          <NavLink key={path} to={path} end>
            {title}
          </NavLink>
        ))}
    </nav>
  )
}
