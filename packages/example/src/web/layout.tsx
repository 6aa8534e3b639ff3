import { Button, Flex, IconButton, Text } from '@radix-ui/themes'
import { SignedIn } from '@sallyport/trpc/react'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'react-router'
import { useAppAuth, useIsBanned, useTRPC } from './clients.ts'
import { Navigation } from './navigation.tsx'
import { toggleAppearance } from './ui/appearance.ts'
import { ConfirmDialog } from './ui/confirm-dialog.tsx'
import { Logo } from './ui/logo.tsx'
import { Problem } from './ui/problem.tsx'
import { useLive } from './use-live.ts'

/** What stands around every page. */
export function Layout({ children }: { readonly children: ReactNode }) {
  const { error } = useAppAuth()
  const isBanned = useIsBanned()
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
      <header className="top">
        <div className="bar">
          <Link className="brand" to="/">
            <Logo /> Control room
          </Link>
          {/* Its live pages have stopped: it is built anew when the ban is lifted. */}
          <SignedIn>{!isBanned && <Who />}</SignedIn>
          <IconButton variant="ghost" color="gray" aria-label="Light or dark" onClick={toggleAppearance}>
            ◐
          </IconButton>
        </div>
        <Navigation />
      </header>
      <main className="page" id="main" ref={main} tabIndex={-1}>
        {/* A ban, or a server that cannot be reached, which leaves the page as it is. */}
        <Problem error={error} />
        {isBanned && <WayOut />}
        {children}
      </main>
    </>
  )
}

/** Of a ban: wait for its end, or come back as somebody else. */
function WayOut() {
  const { refresh, signOut } = useAppAuth()
  return (
    <Flex gap="3" my="4">
      <Button onClick={() => void refresh()}>Try again</Button>
      <Button variant="soft" color="gray" onClick={() => void signOut()}>
        Sign out
      </Button>
    </Flex>
  )
}

/** The user, and what serves them on every page. */
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
      <Button size="1" variant="soft" color="gray" onClick={() => void signOut()}>
        Sign out
      </Button>
      <ConfirmDialog />
    </>
  )
}
