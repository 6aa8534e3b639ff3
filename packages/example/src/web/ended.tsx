import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useEffect, useState } from 'react'
import type { Clients } from './clients.ts'

const Ended = createContext(false)

/** Of the mutation that deletes the account: the end of the session is part of it. */
export const DELETE_ACCOUNT = ['delete-account']

/** Whether the session has ended and nobody asked for it here: it was revoked, or ended in another tab. */
export const useEnded = (): boolean => use(Ended)

interface EndedProviderProps extends Pick<Clients, 'authClient'> {
  readonly children: ReactNode
}

/** Stands above `AuthProvider`, which builds everything below it anew when the user changes. */
export function EndedProvider({ authClient, children }: EndedProviderProps) {
  const mutations = useQueryClient().getMutationCache()
  const [isEnded, setIsEnded] = useState(false)
  useEffect(() => {
    let before = authClient.getState().status
    const isAskedFor = () =>
      mutations.findAll({ mutationKey: DELETE_ACCOUNT }).some(({ state }) => state.status !== 'error')
    return authClient.subscribe(() => {
      const { status, error } = authClient.getState()
      if (status === 'authenticated') setIsEnded(false)
      // With an error, the layout says why.
      if (status === 'unauthenticated' && before === 'authenticated')
        setIsEnded(error === null && !isAskedFor())
      before = status
    })
  }, [authClient, mutations])
  return <Ended value={isEnded}>{children}</Ended>
}
