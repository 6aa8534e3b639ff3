import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'

/** A change by an admin, after which the data of the admin pages is fetched again. */
export function useAdminChange<Input = void>(change: (input: Input) => Promise<unknown>) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => queryClient.invalidateQueries(trpc.admin.pathFilter()),
  })
}
