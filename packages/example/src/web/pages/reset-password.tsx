import { Card, Link, Text } from '@radix-ui/themes'
import { Link as RouterLink } from 'react-router'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Form } from '../ui/form.tsx'
import { NewPassword } from '../ui/new-password.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'
import { SuccessMessage } from '../ui/success.tsx'
import { useLink } from '../ui/use-link.tsx'

/** The page that the link from "Forgot password" opens. */
export function ResetPassword() {
  const { client } = useAppAuth()
  const { mutate, isPending, isSuccess, error } = useLink((token, values: FormData) =>
    client.api.resetPassword({ token, newPassword: String(values.get('newPassword')) }),
  )
  return (
    <div className="narrow">
      <PageHeading title="New password">A new password signs you out in all browsers.</PageHeading>
      <Card size="3">
        <div className="stack">
          {!isSuccess && (
            <Form onFilled={(values) => mutate(values)}>
              <NewPassword label="New password" name="newPassword" />
              <ActionButton type="submit" isPending={isPending}>
                Set password
              </ActionButton>
            </Form>
          )}
          <Problem error={error} />
          <SuccessMessage message={isSuccess && 'Your password has been changed.'} />
          <Text as="p" size="2">
            <Link asChild underline="always">
              {isSuccess ? (
                <RouterLink to="/sign-in">Sign in</RouterLink>
              ) : (
                <RouterLink to="/forgot-password">Request another link</RouterLink>
              )}
            </Link>
          </Text>
        </div>
      </Card>
    </div>
  )
}
