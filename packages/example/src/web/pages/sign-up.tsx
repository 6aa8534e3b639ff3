import { Button, Card, Link, Text } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { Link as RouterLink } from 'react-router'
import { useAppAuth } from '../clients.ts'
import { Field } from '../ui/field.tsx'
import { messageOf } from '../ui/message-of.ts'
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
        <form className="stack" action={(form) => signUp.mutate(form)}>
          <Field label="Name" name="name" autoComplete="name" required />
          <Field label="Email" name="email" type="email" autoComplete="username" required />
          <Field
            label="Password"
            name="password"
            type="password"
            autoComplete="new-password"
            minLength={8}
            maxLength={256}
            hint="8 to 256 characters, and none of the most common ones."
            required
          />
          <Problem message={messageOf(signUp.error)} />
          <Button type="submit" loading={signUp.isPending}>
            Sign up
          </Button>
          <Text as="p" size="2">
            You have an account?{' '}
            <Link asChild>
              <RouterLink to="/sign-in">Sign in</RouterLink>
            </Link>
          </Text>
        </form>
      </Card>
    </div>
  )
}
