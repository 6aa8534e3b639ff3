import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'

/** A revocation by the user, after which the list of sessions is fetched again. */
export function useRevocation(revoke: () => Promise<unknown>) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: revoke,
    onSuccess: () => queryClient.invalidateQueries(trpc.sessions.pathFilter()),
  })
}
