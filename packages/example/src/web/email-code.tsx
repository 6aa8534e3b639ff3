import { Text } from '@radix-ui/themes'
import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useAppAuth } from './clients.ts'
import { ActionButton } from './ui/action-button.tsx'
import { CodeField } from './ui/code-field.tsx'
import { Field } from './ui/field.tsx'
import { Form } from './ui/form.tsx'
import { Problem } from './ui/problem.tsx'

type CodeSignIn = UseMutationResult<unknown, Error, FormData>

/** Signs in by a code from an email. The error has a challenge if the user needs a second factor. */
export function useCodeSignIn(): CodeSignIn {
  const { client } = useAppAuth()
  return useMutation({
    mutationFn: (values: FormData) => client.api.signInEmailCode({ code: String(values.get('code')) }),
  })
}

/** Asks for an email, and then for the code that it got. */
export function EmailCode({ signIn }: { readonly signIn: CodeSignIn }) {
  const { client } = useAppAuth()
  const [isOpen, setIsOpen] = useState(false)
  const request = useMutation({
    mutationFn: (values: FormData) => client.api.requestEmailCode({ email: String(values.get('email')) }),
  })
  if (!isOpen)
    return (
      <div>
        <ActionButton variant="soft" isPending={false} onClick={() => setIsOpen(true)}>
          Sign in with a code by email
        </ActionButton>
      </div>
    )
  if (!request.isSuccess)
    return (
      <Form onFilled={(values) => request.mutate(values)}>
        <Field
          label="Email for the code"
          name="email"
          type="email"
          autoComplete="username"
          required
          autoFocus
        />
        <Problem error={request.error} />
        <ActionButton type="submit" isPending={request.isPending}>
          Send the code
        </ActionButton>
      </Form>
    )
  return (
    <Form onFilled={(values) => signIn.mutate(values)}>
      <Text as="p" size="2" role="status">
        If an account has this email, it gets a code, which is valid for 10 minutes.
      </Text>
      <CodeField autoFocus hint="From the email. In development, the terminal prints it." />
      <Problem error={signIn.error} />
      <ActionButton type="submit" isPending={signIn.isPending}>
        Sign in with the code
      </ActionButton>
    </Form>
  )
}
