import { Callout, Card, Link, Text } from '@radix-ui/themes'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link as RouterLink } from 'react-router'
import { useAppAuth, useTRPC } from '../clients.ts'
import { useEnded } from '../ended.tsx'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

/** The page itself changes to what the user asked for: the client tells everyone who is signed in. */
export function SignIn() {
  const { client } = useAppAuth()
  const isEnded = useEnded()
  const trpc = useTRPC()
  const { data: demo } = useQuery(trpc.demo.queryOptions())
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
        {demo && `In development: ${demo.users.join(' or ')}, password: ${demo.password}`}
      </PageHeading>
      {isEnded && (
        <Callout.Root size="1" mb="4" role="status">
          <Callout.Text>This session was ended. Sign in to go on.</Callout.Text>
        </Callout.Root>
      )}
      <Card size="3">
        <Form onFilled={(values) => signIn.mutate(values)}>
          <Field label="Email" name="email" type="email" autoComplete="username" required />
          <Field label="Password" name="password" type="password" autoComplete="current-password" required />
          <Problem error={signIn.error} />
          <ActionButton type="submit" isPending={signIn.isPending}>
            Sign in
          </ActionButton>
          <Text as="p" size="2">
            No account yet?{' '}
            <Link asChild underline="always">
              <RouterLink to="/sign-up">Sign up</RouterLink>
            </Link>
          </Text>
        </Form>
      </Card>
    </div>
  )
}
