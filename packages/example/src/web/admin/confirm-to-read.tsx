import { Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { type FetchQueryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'

/** Asks for the password when the admin's session isn't fresh, then fetches the query again. */
export function ConfirmToRead({ options }: { readonly options: Pick<FetchQueryOptions, 'queryKey'> }) {
  const queryClient = useQueryClient()
  const { run } = useSensitive()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => run(() => queryClient.refetchQueries(options, { throwOnError: true })),
  })
  return (
    <div className="stack">
      <Text as="p" size="2" color="gray">
        The audit trail requires a recent sign-in.
      </Text>
      <div>
        <ActionButton variant="soft" isPending={isPending} onClick={() => mutate()}>
          Confirm your password
        </ActionButton>
      </div>
      <Problem error={error} />
    </div>
  )
}
