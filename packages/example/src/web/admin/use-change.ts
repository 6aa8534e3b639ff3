import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'

/** A change by an admin, after which all that admins see is fetched again. */
export function useChange<Input = void>(change: (input: Input) => Promise<unknown>) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => queryClient.invalidateQueries(trpc.admin.pathFilter()),
  })
}
