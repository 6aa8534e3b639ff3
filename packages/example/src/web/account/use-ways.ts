import { useQuery } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'

export const ACCOUNTS_KEY = ['accounts']
export const PASSKEYS_KEY = ['passkeys']

/** Fetches the user's password and accounts at providers. */
export function useAccounts({ enabled = true } = {}) {
  const { client } = useAppAuth()
  return useQuery({ queryKey: ACCOUNTS_KEY, queryFn: () => client.api.listAccounts(), enabled })
}

/** Fetches the user's passkeys. */
export function usePasskeys({ enabled = true } = {}) {
  const { client } = useAppAuth()
  return useQuery({ queryKey: PASSKEYS_KEY, queryFn: () => client.api.listPasskeys(), enabled })
}
