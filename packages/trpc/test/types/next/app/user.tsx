'use client'

import { useAuth } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { type DehydratedState, HydrationBoundary } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { createClients, Providers } from '../app.tsx'
import { createQueryClient } from '../query-client.ts'

const create = (state: HydrationState) => ({ ...createClients(state), queryClient: createQueryClient() })
let inBrowser: ReturnType<typeof create> | undefined

/** New clients for each page on the server, the same ones in the browser. */
function getClients(state: HydrationState) {
  if (typeof window === 'undefined') return create(state)
  inBrowser ??= create(state)
  return inBrowser
}

interface UserProps {
  readonly user: HydrationState
  readonly children: ReactNode
}

export function User({ user, children }: UserProps) {
  return (
    <Providers {...getClients(user)}>
      <FollowUser />
      {children}
    </Providers>
  )
}

/** Discards what the server rendered for another user, also in the router's cache. */
function FollowUser() {
  const { userChanges } = useAuth()
  useEffect(() => {
    if (userChanges > 0) window.location.reload()
  }, [userChanges])
  return null
}

/** Hydrates the queries of a page only for the user that the page was rendered for. */
export function Hydrated({ user, state, children }: UserProps & { readonly state: DehydratedState }) {
  const { sessionId } = useAuth()
  const isTheirs = sessionId === (user.status === 'authenticated' ? user.sessionId : null)
  return <HydrationBoundary state={isTheirs ? state : undefined}>{children}</HydrationBoundary>
}
