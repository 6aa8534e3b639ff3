import { useSensitive } from '@sallyport/trpc/react'
import { useAppAuth } from '../clients.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import type { AdminUser } from './admin-user.ts'
import { useAdminChange } from './use-admin-change.ts'

/** Removes the second factors of a user who has lost them. */
export function ResetFactors({ user }: { readonly user: AdminUser }) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const input = { userId: user.id, reason: 'Reset on the page of the user' }
  const reset = useAdminChange(() => run(() => client.api.resetUserFactors(input)))
  return (
    <>
      <ConfirmButton
        color="gray"
        title={`Remove the second factors of ${user.email}?`}
        description="Check who the user is first. This also ends all of their sessions."
        action="Remove"
        isPending={reset.isPending}
        onConfirm={() => reset.mutate()}
      >
        Reset factors
      </ConfirmButton>
      <Problem error={reset.error} />
    </>
  )
}
