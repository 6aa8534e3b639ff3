import { Link } from '@radix-ui/themes'
import { Link as RouterLink, useLocation, useSearchParams } from 'react-router'
import { useHydrated } from './use-hydrated.ts'

/**
 * Returns the page to open after the sign-in: the one that the sign-in form replaces, or the `next` of the
 * URL.
 */
export function useNext(): string {
  const { pathname } = useLocation()
  const [search] = useSearchParams()
  return search.get('next') ?? pathname
}

interface GuestLinkProps {
  readonly to: '/sign-in' | '/sign-up' | '/forgot-password'
  readonly children: string
}

/**
 * A link between the pages for guests. It keeps the page to open after the sign-in, and its token after the
 * `#`.
 */
export function GuestLink({ to, children }: GuestLinkProps) {
  const next = useNext()
  const { hash } = useLocation()
  // The server doesn't get the hash.
  const isHydrated = useHydrated()
  const target = { pathname: to, search: String(new URLSearchParams({ next })), hash: isHydrated ? hash : '' }
  return (
    <Link asChild underline="always">
      <RouterLink to={target}>{children}</RouterLink>
    </Link>
  )
}
