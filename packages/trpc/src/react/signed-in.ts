import type { ReactNode } from 'react'
import type { AuthStatus } from '../client/auth-state.ts'
import { useAuthContext } from './auth-context.ts'

/** What {@link SignedIn}, {@link SignedOut} and {@link AuthLoading} take. In every state exactly one of them shows its children. */
export interface ShownProps {
  readonly children?: ReactNode
}

/** Shows its children to a user who is signed in. */
export function SignedIn({ children }: ShownProps): ReactNode {
  return useShown('authenticated') ? children : null
}

/** Shows its children where certainly nobody is signed in. */
export function SignedOut({ children }: ShownProps): ReactNode {
  return useShown('unauthenticated') ? children : null
}

/** Shows its children while it is being found out, or nobody can say, who is signed in, and during a sign-out. */
export function AuthLoading({ children }: ShownProps): ReactNode {
  return useShown('loading', 'unknown', 'signing-out') ? children : null
}

function useShown(...statuses: readonly AuthStatus[]): boolean {
  return statuses.includes(useAuthContext().state.status)
}
