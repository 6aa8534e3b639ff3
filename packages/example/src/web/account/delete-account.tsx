import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { DELETE_ACCOUNT } from '../session-ended.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'

export function DeleteAccount() {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const remove = useMutation({
    mutationKey: DELETE_ACCOUNT,
    mutationFn: () => run(() => client.api.deleteUser()),
  })
  return (
    <Section title="Delete account" hint="Deletes your notes and reports, and signs out all your browsers.">
      <div className="stack">
        <Problem error={remove.error} />
        <div>
          <ConfirmButton
            title="Delete your account?"
            description="Your notes and reports are deleted, and all your browsers are signed out. You can't undo this."
            action="Delete"
            isPending={remove.isPending}
            onConfirm={() => remove.mutate()}
          >
            Delete account
          </ConfirmButton>
        </div>
      </div>
    </Section>
  )
}
