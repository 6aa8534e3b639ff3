import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'
import { SuccessMessage } from '../ui/success.tsx'

/** Gives this browser new credentials. The server asks for the password if the session isn't fresh. */
export function RevokeCopies() {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const revoke = useMutation({ mutationFn: () => run(() => client.api.revokeCopies()) })
  return (
    <Section
      title="Copies of this session"
      hint="If someone copied this browser's cookies, sign out the copies. You stay signed in here."
    >
      <div className="stack">
        <SuccessMessage message={revoke.isSuccess && 'Copies of this session are signed out.'} />
        <Problem error={revoke.error} />
        <div>
          <ConfirmButton
            title="Sign out copies of this session?"
            description="This browser gets new cookies. Copies of the old ones stop working."
            action="Sign out"
            isPending={revoke.isPending}
            onConfirm={() => revoke.mutate()}
          >
            Sign out copies
          </ConfirmButton>
        </div>
      </div>
    </Section>
  )
}
