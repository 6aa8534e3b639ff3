import type { ReactNode } from 'react'
import { useAuthContext } from './auth-provider.ts'

/** In every state, {@link SignedIn}, {@link SignedOut}, or {@link AuthLoading} shows its children. */
export interface ShownProps {
  readonly children?: ReactNode
}

/** Shows its children if a user is signed in. */
export function SignedIn({ children }: ShownProps): ReactNode {
  return useAuthContext().state.status === 'authenticated' ? children : null
}

/** Shows its children if the server has confirmed that no user is signed in. */
export function SignedOut({ children }: ShownProps): ReactNode {
  return useAuthContext().state.status === 'unauthenticated' ? children : null
}

/** Shows its children while the client doesn't know whether a user is signed in, and during a sign-out. */
export function AuthLoading({ children }: ShownProps): ReactNode {
  // Either `authenticated` or `unauthenticated`.
  const isKnown = /authenticated$/.test(useAuthContext().state.status)
  return isKnown ? null : children
}
