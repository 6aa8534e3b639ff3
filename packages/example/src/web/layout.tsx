import { IconButton, Text } from '@radix-ui/themes'
import { SignedIn } from '@sallyport/trpc/react'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation, useNavigationType, useSearchParams } from 'react-router'
import { useAppAuth, useIsBanned, useTRPC } from './clients.ts'
import { useFormResult } from './form-result.ts'
import { Navigation } from './navigation.tsx'
import { toggleAppearance } from './ui/appearance.ts'
import { ConfirmDialog } from './ui/confirm-dialog.tsx'
import { Logo } from './ui/logo.tsx'
import { Problem } from './ui/problem.tsx'
import { SignOut } from './ui/sign-out.tsx'
import { useLive } from './use-live.ts'

/** The header and the frame of every page. */
export function Layout({ children }: { readonly children: ReactNode }) {
  const { error } = useAppAuth()
  const isBanned = useIsBanned()
  const signedOut = useFormResult('/sign-out')
  const { pathname } = useLocation()
  const [search] = useSearchParams()
  const isFromHistory = useNavigationType() === 'POP'
  const main = useRef<HTMLElement>(null)
  // A list has several pages.
  const page = `${pathname} ${search.get('cursor')}`
  const before = useRef(page)
  // Moves the focus to the new page, for keyboards and screen readers. The browser itself scrolls a page of
  // the history.
  useEffect(() => {
    if (before.current === page) return
    before.current = page
    main.current?.focus()
    if (!isFromHistory) scrollTo(0, 0)
  }, [page, isFromHistory])
  return (
    <>
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <header className="top">
        <div className="bar">
          <Link className="brand" to="/">
            <Logo /> Control room
          </Link>
          {/* A ban ends its subscriptions. It remounts when the ban is lifted. */}
          <SignedIn>{!isBanned && <UserMenu />}</SignedIn>
          <IconButton variant="ghost" color="gray" aria-label="Toggle dark mode" onClick={toggleAppearance}>
            ◐
          </IconButton>
        </div>
        <Navigation />
      </header>
      <main className="page" id="main" ref={main} tabIndex={-1}>
        {/* Such as an unreachable server. The page stays usable. */}
        {!isBanned && <Problem error={error ?? signedOut?.message} />}
        {children}
      </main>
    </>
  )
}

/** The user, the sign-out, and what every page needs while a user is signed in. */
function UserMenu() {
  const trpc = useTRPC()
  const { data: me } = useQuery(trpc.me.queryOptions())
  useLive()
  return (
    <>
      <Text size="2" color="gray" className="user-email">
        {me?.isAnonymous ? 'No account yet' : me?.email}
      </Text>
      <SignOut size="1" />
      <ConfirmDialog />
    </>
  )
}
