import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTRPC } from './clients.ts'

/** A change after which the data of a router is fetched again. */
export function useChange<Input = void>(
  router: 'admin' | 'organizations' | 'sessions',
  change: (input: Input) => Promise<unknown>,
) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => queryClient.invalidateQueries(trpc[router].pathFilter()),
  })
}
