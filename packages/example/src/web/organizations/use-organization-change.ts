import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'

/** A change after which the organizations are fetched again. */
export function useOrganizationChange<Input>(change: (input: Input) => Promise<unknown>) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => queryClient.invalidateQueries(trpc.organizations.pathFilter()),
  })
}
