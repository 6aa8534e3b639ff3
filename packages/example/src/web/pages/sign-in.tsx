import { Callout, Card, Text } from '@radix-ui/themes'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { DemoSignIn } from '../demo-sign-in.tsx'
import { useCodeSignIn } from '../email-code.tsx'
import { useFormResult } from '../form-result.ts'
import { OtherWays } from '../other-ways.tsx'
import { useProviderChallenge } from '../provider-result.ts'
import { challengeOf, SecondStep } from '../second-step.tsx'
import { useSessionEnded } from '../session-ended.tsx'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { GuestLink, useNext } from '../ui/guest-link.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

const PATH = '/sign-in'

/** Also takes the place of a page that needs a user. That page appears when the client has a session. */
export function SignIn() {
  const { client } = useAppAuth()
  const isEnded = useSessionEnded()
  const sent = useFormResult(PATH)
  const next = useNext()
  const signIn = useMutation({
    mutationFn: (form: FormData) =>
      client.api.signInEmail({
        email: String(form.get('email')),
        password: String(form.get('password')),
      }),
  })
  const provider = useProviderChallenge()
  const withCode = useCodeSignIn()
  const challenge = challengeOf(signIn.error) ?? challengeOf(withCode.error) ?? provider.challenge
  const startAgain = () => {
    signIn.reset()
    withCode.reset()
    provider.forget()
  }
  return (
    <div className="narrow">
      <PageHeading title="Sign in" />
      {isEnded && (
        <Callout.Root size="1" mb="4" role="status">
          <Callout.Text>
            {navigator.cookieEnabled
              ? 'Your session has ended. Sign in to continue.'
              : 'This browser blocks cookies. Allow them for this site, and sign in again.'}
          </Callout.Text>
        </Callout.Root>
      )}
      <Card size="3">
        {challenge === null ? (
          <>
            <Form postTo={PATH} onFilled={(values) => signIn.mutate(values)}>
              <input type="hidden" name="next" value={sent?.values.next ?? next} />
              <Field
                label="Email or username"
                name="email"
                autoComplete="username webauthn"
                defaultValue={sent?.values.email}
                required
              />
              <Field
                label="Password"
                name="password"
                type="password"
                autoComplete="current-password"
                required
              />
              <Problem error={signIn.isIdle ? sent?.message : signIn.error} />
              <ActionButton type="submit" isPending={signIn.isPending}>
                Sign in
              </ActionButton>
              <Text as="p" size="2">
                <GuestLink to="/sign-up">Create an account</GuestLink>
                {' · '}
                <GuestLink to="/forgot-password">Forgot password?</GuestLink>
              </Text>
            </Form>
            <OtherWays next={sent?.values.next ?? next} withCode={withCode} />
            <DemoSignIn next={next} onFilled={(values) => signIn.mutate(values)} />
          </>
        ) : (
          <SecondStep challenge={challenge} onExpired={startAgain} />
        )}
      </Card>
    </div>
  )
}
