import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { AccountFields, readAccount } from '../ui/account-fields.tsx'
import { ActionButton } from '../ui/action-button.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'

/** Gives a user of `anonymous()` an account. Their id stays, and so do their rows. */
export function Upgrade() {
  const { client } = useAppAuth()
  const queryClient = useQueryClient()
  const upgrade = useMutation({
    mutationFn: (form: FormData) => client.api.upgradeAnonymous(readAccount(form)),
    onSuccess: () => queryClient.invalidateQueries(),
  })
  return (
    <Section
      title="Create an account"
      hint="An account keeps your notes and reports. Without one, you lose them when you sign out."
    >
      <Form onFilled={(form) => upgrade.mutate(form)}>
        <AccountFields />
        <Problem error={upgrade.error} />
        <div>
          <ActionButton type="submit" isPending={upgrade.isPending}>
            Create account
          </ActionButton>
        </div>
      </Form>
    </Section>
  )
}
