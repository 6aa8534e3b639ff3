import { Card, Link, Text } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { Link as RouterLink } from 'react-router'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { NewPassword } from '../ui/new-password.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

export function SignUp() {
  const { client } = useAppAuth()
  const signUp = useMutation({
    mutationFn: (form: FormData) =>
      client.api.signUpEmail({
        name: String(form.get('name')),
        email: String(form.get('email')),
        password: String(form.get('password')),
      }),
  })
  return (
    <div className="narrow">
      <PageHeading title="Sign up">Any address will do: nothing is sent to it.</PageHeading>
      <Card size="3">
        <Form onFilled={(values) => signUp.mutate(values)}>
          <Field label="Name" name="name" autoComplete="name" maxLength={100} required />
          <Field label="Email" name="email" type="email" autoComplete="username" required />
          <NewPassword label="Password" name="password" />
          <Problem error={signUp.error} />
          <ActionButton type="submit" isPending={signUp.isPending}>
            Sign up
          </ActionButton>
          <Text as="p" size="2">
            You have an account?{' '}
            <Link asChild underline="always">
              <RouterLink to="/sign-in">Sign in</RouterLink>
            </Link>
          </Text>
        </Form>
      </Card>
    </div>
  )
}
