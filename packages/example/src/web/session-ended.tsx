import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useEffect, useState } from 'react'
import type { Clients } from './clients.ts'

const SessionEnded = createContext(false)

/** The key of the mutation that deletes the account, which also ends the session. */
export const DELETE_ACCOUNT = ['delete-account']

/**
 * Returns whether the session ended without an action of the user on this page: revoked, or ended in another
 * tab.
 */
export const useSessionEnded = (): boolean => use(SessionEnded)

interface SessionEndedProviderProps extends Pick<Clients, 'authClient'> {
  readonly children: ReactNode
}

/** Must be above `AuthProvider`, which remounts everything below it when the user changes. */
export function SessionEndedProvider({ authClient, children }: SessionEndedProviderProps) {
  const mutations = useQueryClient().getMutationCache()
  const [isEnded, setIsEnded] = useState(false)
  useEffect(() => {
    let before = authClient.getState().status
    const isDeleted = () =>
      mutations.findAll({ mutationKey: DELETE_ACCOUNT }).some(({ state }) => state.status !== 'error')
    return authClient.subscribe(() => {
      const { status, error } = authClient.getState()
      if (status === 'authenticated') setIsEnded(false)
      // If there is an error, the layout shows it.
      if (status === 'unauthenticated' && before === 'authenticated')
        setIsEnded(error === null && !isDeleted())
      before = status
    })
  }, [authClient, mutations])
  return <SessionEnded value={isEnded}>{children}</SessionEnded>
}
