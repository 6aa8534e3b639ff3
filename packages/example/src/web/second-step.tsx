import { Text } from '@radix-ui/themes'
import { AuthClientError } from '@sallyport/trpc/client'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from './clients.ts'
import { askForPasskey } from './passkey-prompt.ts'
import { ActionButton } from './ui/action-button.tsx'
import { CodeField } from './ui/code-field.tsx'
import { Form } from './ui/form.tsx'
import { Problem } from './ui/problem.tsx'

/** Returns the challenge of a sign-in that a second factor must complete. */
export const challengeOf = (error: Error | null) =>
  error instanceof AuthClientError ? error.challenge : null

interface SecondStepProps {
  readonly challenge: Pick<NonNullable<AuthClientError['challenge']>, 'token' | 'methods'>
  readonly onExpired: () => void
}

/** Completes a sign-in with a second factor. The page after it appears when the client has a session. */
export function SecondStep({ challenge: { token, methods }, onExpired }: SecondStepProps) {
  const { client } = useAppAuth()
  const onError = (error: Error) => {
    if (error instanceof AuthClientError && error.code === 'CHALLENGE_INVALID') onExpired()
  }
  const withCode = useMutation({
    mutationFn: (values: FormData) =>
      client.api.signInTotp({
        challenge: token,
        code: String(values.get('code')),
        trustDevice: values.get('trustDevice') === 'on',
      }),
    onError,
  })
  const withPasskey = useMutation({
    mutationFn: async () => {
      const response = await askForPasskey(await client.api.createPasskeySignInOptions())
      return client.api.signInPasskey({ response, challenge: token })
    },
    onError,
  })
  return (
    <div className="stack">
      {methods.includes('otp') && (
        <Form onFilled={(values) => withCode.mutate(values)}>
          <CodeField autoFocus />
          <Text as="label" size="2">
            <input type="checkbox" name="trustDevice" /> Trust this browser for 30 days
          </Text>
          <Problem error={withCode.error} />
          <ActionButton type="submit" isPending={withCode.isPending}>
            Confirm
          </ActionButton>
        </Form>
      )}
      {methods.includes('passkey') && (
        <>
          <Problem error={withPasskey.error} />
          <ActionButton variant="soft" isPending={withPasskey.isPending} onClick={() => withPasskey.mutate()}>
            Confirm with a passkey
          </ActionButton>
        </>
      )}
    </div>
  )
}
