import { Button, IconButton, Text } from '@radix-ui/themes'
import { SignedIn } from '@sallyport/trpc/react'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, NavLink, useLocation } from 'react-router'
import { useAppAuth, useTRPC } from './clients.ts'
import { toggleAppearance } from './ui/appearance.ts'
import { Problem } from './ui/problem.tsx'
import { useLive } from './use-live.ts'

const PAGES = [
  { path: '/notes', name: 'Notes' },
  { path: '/sessions', name: 'Sessions' },
  { path: '/account', name: 'Account' },
  { path: '/reports', name: 'Reports' },
]

/** What stands around every page. */
export function Layout({ children }: { readonly children: ReactNode }) {
  const { error } = useAppAuth()
  const { pathname } = useLocation()
  const main = useRef<HTMLElement>(null)
  const before = useRef(pathname)
  // Whoever cannot see the page is taken to what has changed.
  useEffect(() => {
    if (before.current !== pathname) main.current?.focus()
    before.current = pathname
  }, [pathname])
  return (
    <>
      <a className="skip-link" href="#main">
        Skip to the page
      </a>
      <header className="bar">
        <Link className="brand" to="/">
          <Doors /> Control room
        </Link>
        <SignedIn>
          <Who />
        </SignedIn>
        <IconButton variant="ghost" color="gray" aria-label="Light or dark" onClick={toggleAppearance}>
          ◐
        </IconButton>
      </header>
      <Navigation />
      <main className="page" id="main" ref={main} tabIndex={-1}>
        <Problem message={error?.message} />
        {children}
      </main>
    </>
  )
}

function Navigation() {
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

/** The two doors of a sally port. */
function Doors() {
  return (
    <svg aria-hidden="true" width="20" height="20" viewBox="0 0 20 20" fill="currentColor">
      <path d="M2 2h7v16H2zM11 2h7v16h-7z" opacity=".35" />
      <circle cx="7" cy="10" r="1.2" />
      <circle cx="16" cy="10" r="1.2" />
    </svg>
  )
}

function Who() {
  const { signOut } = useAppAuth()
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions())
  useLive()
  return (
    <>
      <Text size="2" color="gray" className="who">
        {me?.email}
      </Text>
      <Button size="1" variant="soft" onClick={() => void signOut()}>
        Sign out
      </Button>
    </>
  )
}
