import { createContext, type ReactNode, use, useEffect, useState } from 'react'
import type { Clients } from './clients.ts'

const Ended = createContext(false)

/** Whether the session has ended and nobody asked for it here: it was revoked, or ended in another tab. */
export const useEnded = (): boolean => use(Ended)

interface EndedProviderProps extends Pick<Clients, 'authClient'> {
  readonly children: ReactNode
}

/** Stands above `AuthProvider`, which builds everything below it anew when the user changes. */
export function EndedProvider({ authClient, children }: EndedProviderProps) {
  const [isEnded, setIsEnded] = useState(false)
  useEffect(() => {
    let before = authClient.getState().status
    return authClient.subscribe(() => {
      const { status } = authClient.getState()
      if (status === 'authenticated') setIsEnded(false)
      if (status === 'unauthenticated' && before === 'authenticated') setIsEnded(true)
      before = status
    })
  }, [authClient])
  return <Ended value={isEnded}>{children}</Ended>
}
