import { Card, Text } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { useFormResult } from '../form-result.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { DevelopmentHint } from '../ui/development-hint.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { GuestLink } from '../ui/guest-link.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'
import { SuccessMessage } from '../ui/success.tsx'

const PATH = '/forgot-password'

/** Requests a link that sets a new password. The response doesn't reveal whether the account exists. */
export function ForgotPassword() {
  const { client } = useAppAuth()
  const sent = useFormResult(PATH)
  const request = useMutation({
    mutationFn: (form: FormData) => client.api.requestPasswordReset({ email: String(form.get('email')) }),
  })
  const isSent = request.isSuccess || (request.isIdle && sent?.isSuccess === true)
  return (
    <div className="narrow">
      <PageHeading title="Forgot password">
        Enter your email to get a link that sets a new password.
      </PageHeading>
      <Card size="3">
        <Form postTo={PATH} onFilled={(values) => request.mutate(values)}>
          <Field
            label="Email"
            name="email"
            type="email"
            autoComplete="username"
            defaultValue={sent?.values.email}
            required
          />
          <Problem error={request.isIdle ? sent?.message : request.error} />
          <SuccessMessage message={isSent && 'If this account exists, the link has been sent.'} />
          <DevelopmentHint>In development, the server prints the link to its terminal.</DevelopmentHint>
          <ActionButton type="submit" isPending={request.isPending}>
            Send link
          </ActionButton>
          <Text as="p" size="2">
            <GuestLink to="/sign-in">Back to sign-in</GuestLink>
          </Text>
        </Form>
      </Card>
    </div>
  )
}
