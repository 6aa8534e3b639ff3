'use client'

import type { HydrationState } from '@sallyport/core/internal/protocol'
import { type DehydratedState, HydrationBoundary } from '@tanstack/react-query'
import { useRouter } from 'next/navigation.js'
import { createElement, type ReactNode, useEffect } from 'react'
import { useAuth } from '../react/use-auth.ts'

export interface HydratedProps {
  /** `page.state`: the user that the server rendered this page for. */
  readonly user: HydrationState
  /** The queries of the page, from TanStack's `dehydrate`. */
  readonly state?: DehydratedState
  readonly children?: ReactNode
}

/** Each part of a page may need the refresh, which renders all parts. */
let isRefreshDue = false

/**
 * Hydrates the queries of a page only for the user that the page was rendered for. When another user signs
 * in, or this one signs out, it hides its children, and refreshes the page and the client's user: the page
 * may be an old one of the router's cache, or newer than the client.
 *
 * @example <Hydrated user={page.state} state={dehydrate(queryClient)}><Notes /></Hydrated>
 */
export function Hydrated({ user, state, children }: HydratedProps): ReactNode {
  const { sessionId, refresh: refreshUser } = useAuth()
  const { refresh: refreshPage } = useRouter()
  const rendered = user.status === 'authenticated' ? user.sessionId : null
  const isTheirs = sessionId === rendered
  useEffect(() => {
    if (isTheirs || isRefreshDue) return
    isRefreshDue = true
    queueMicrotask(() => {
      isRefreshDue = false
      refreshPage()
      // The page may be newer than the client, such as after a revocation, or a sign-in by a Server Action.
      void refreshUser()
    })
    // Once for each session: a server that can't resolve the user must not cause a loop.
  }, [isTheirs, sessionId, refreshPage, refreshUser])
  if (!isTheirs && rendered !== null) return null
  return createElement(HydrationBoundary, { state: isTheirs ? state : undefined }, children)
}
