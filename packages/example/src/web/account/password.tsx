import { Flex } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Done } from '../ui/done.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { NewPassword } from '../ui/new-password.tsx'
import { Problem, problemOfPassword } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'

export function Password() {
  const { client } = useAppAuth()
  const change = useMutation({
    mutationFn: (values: FormData) =>
      client.api.changePassword({
        currentPassword: String(values.get('currentPassword')),
        newPassword: String(values.get('newPassword')),
      }),
  })
  return (
    <Section title="Password" hint="A new one ends all your other sessions.">
      <Form onFilled={(values, form) => change.mutate(values, { onSuccess: () => form?.reset() })}>
        <Field
          label="Current password"
          name="currentPassword"
          type="password"
          autoComplete="current-password"
          required
        />
        <NewPassword label="New password" name="newPassword" />
        <Problem error={problemOfPassword(change.error)} />
        <Flex gap="3" align="center">
          <ActionButton type="submit" isPending={change.isPending}>
            Change password
          </ActionButton>
          <Done message={change.isSuccess && 'Changed. You are signed in here alone.'} />
        </Flex>
      </Form>
    </Section>
  )
}
