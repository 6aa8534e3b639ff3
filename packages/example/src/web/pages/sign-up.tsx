import { Card, Text } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { useFormResult } from '../form-result.ts'
import { AccountFields, readAccount } from '../ui/account-fields.tsx'
import { ActionButton } from '../ui/action-button.tsx'
import { Form } from '../ui/form.tsx'
import { GuestLink, useNext } from '../ui/guest-link.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

const PATH = '/sign-up'

export function SignUp() {
  const { client } = useAppAuth()
  const sent = useFormResult(PATH)
  const next = useNext()
  const signUp = useMutation({
    mutationFn: (form: FormData) => client.api.signUpEmail(readAccount(form)),
  })
  return (
    <div className="narrow">
      <PageHeading title="Sign up" />
      <Card size="3">
        <Form postTo={PATH} onFilled={(values) => signUp.mutate(values)}>
          <input type="hidden" name="next" value={sent?.values.next ?? next} />
          <AccountFields values={sent?.values} />
          <Problem error={signUp.isIdle ? sent?.message : signUp.error} />
          <ActionButton type="submit" isPending={signUp.isPending}>
            Sign up
          </ActionButton>
          <Text as="p" size="2">
            Already have an account? <GuestLink to="/sign-in">Sign in</GuestLink>
          </Text>
        </Form>
      </Card>
    </div>
  )
}
