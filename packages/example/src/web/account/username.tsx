import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { useWaysChanged } from './use-ways-to-sign-in.ts'

/** The name that the user can sign in with, in place of their email. */
export function Username({ username }: { readonly username: string | null }) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const onSuccess = useWaysChanged()
  const change = useMutation({
    mutationFn: (values: FormData) =>
      run(() => client.api.changeUsername({ username: String(values.get('username')) })),
    onSuccess,
  })
  return (
    <Form onFilled={(values) => change.mutate(values)}>
      <Field
        label="Username"
        name="username"
        autoComplete="username"
        defaultValue={username ?? ''}
        minLength={3}
        maxLength={30}
        hint="You can sign in with it instead of your email."
        required
      />
      <Problem error={change.error} />
      <div>
        <ActionButton type="submit" variant="soft" isPending={change.isPending}>
          {username === null ? 'Choose username' : 'Change username'}
        </ActionButton>
      </div>
    </Form>
  )
}
