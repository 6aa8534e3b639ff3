import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'

/** Fetches the user's ways to sign in. */
export function useWaysToSignIn({ enabled = true } = {}) {
  const trpc = useTRPC()
  return useQuery(trpc.waysToSignIn.queryOptions(undefined, { enabled }))
}

/** Returns a function that fetches them again, after a change. */
export function useWaysChanged(): () => Promise<void> {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries(trpc.waysToSignIn.queryFilter())
}
