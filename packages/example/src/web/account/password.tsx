import { Flex } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { NewPassword } from '../ui/new-password.tsx'
import { Problem } from '../ui/problem.tsx'
import { Section } from '../ui/section.tsx'
import { SuccessMessage } from '../ui/success.tsx'

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
    <Section title="Password" hint="A new password signs out all your other browsers.">
      <Form onFilled={(values, form) => change.mutate(values, { onSuccess: () => form?.reset() })}>
        <Field
          label="Current password"
          name="currentPassword"
          type="password"
          autoComplete="current-password"
          required
        />
        <NewPassword label="New password" name="newPassword" />
        <Problem error={change.error} />
        <Flex gap="3" align="center">
          <ActionButton type="submit" isPending={change.isPending}>
            Change password
          </ActionButton>
          <SuccessMessage
            message={change.isSuccess && 'Password changed. Your other browsers are signed out.'}
          />
        </Flex>
      </Form>
    </Section>
  )
}
