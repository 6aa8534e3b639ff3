import { Button, Card, Link, Text } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { Link as RouterLink } from 'react-router'
import { useAppAuth } from '../clients.ts'
import { Field } from '../ui/field.tsx'
import { messageOf } from '../ui/message-of.ts'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

/** The page itself changes to what the user asked for: the client tells everyone who is signed in. */
export function SignIn() {
  const { client } = useAppAuth()
  const signIn = useMutation({
    mutationFn: (form: FormData) =>
      client.api.signInEmail({
        email: String(form.get('email')),
        password: String(form.get('password')),
      }),
  })
  return (
    <div className="narrow">
      <PageHeading title="Sign in">
        In development there are ada@example.com, who is an admin, and grace@example.com. The terminal shows
        their password.
      </PageHeading>
      <Card size="3">
        <form className="stack" action={(form) => signIn.mutate(form)}>
          <Field label="Email" name="email" type="email" autoComplete="username" required />
          <Field label="Password" name="password" type="password" autoComplete="current-password" required />
          <Problem message={messageOf(signIn.error)} />
          <Button type="submit" loading={signIn.isPending}>
            Sign in
          </Button>
          <Text as="p" size="2">
            No account yet?{' '}
            <Link asChild>
              <RouterLink to="/sign-up">Sign up</RouterLink>
            </Link>
          </Text>
        </form>
      </Card>
    </div>
  )
}
