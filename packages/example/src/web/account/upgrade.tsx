import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { NewPassword } from '../ui/new-password.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'

/** Gives a user of `anonymous()` an account. Their id stays, and so do their rows. */
export function Upgrade() {
  const { client } = useAppAuth()
  const queryClient = useQueryClient()
  const upgrade = useMutation({
    mutationFn: (values: FormData) =>
      client.api.upgradeAnonymous({
        name: String(values.get('name')),
        email: String(values.get('email')),
        password: String(values.get('password')),
      }),
    onSuccess: () => queryClient.invalidateQueries(),
  })
  return (
    <Section
      title="Create an account"
      hint="An account keeps your notes and reports. Without one, you lose them when you sign out."
    >
      <Form onFilled={(values) => upgrade.mutate(values)}>
        <Field label="Name" name="name" autoComplete="name" maxLength={100} required />
        <Field label="Email" name="email" type="email" autoComplete="username" required />
        <NewPassword label="Password" name="password" />
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
