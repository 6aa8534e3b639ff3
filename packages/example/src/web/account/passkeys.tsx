import { Flex } from '@radix-ui/themes'
import type { PasskeyResponse } from '@sallyport/core/plugins/passkeys'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation } from '@tanstack/react-query'
import { useAppAuth } from '../clients.ts'
import { createPasskey } from '../passkey-prompt.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { useWaysChanged } from './use-ways-to-sign-in.ts'

/** The passkeys, and a form that adds one. */
export function Passkeys({ passkeys }: { readonly passkeys: readonly PasskeyResponse[] }) {
  return (
    <>
      {passkeys.length > 0 && (
        <ul className="rows" aria-label="Passkeys">
          {passkeys.map(({ id, name }) => (
            <Passkey key={id} id={id} name={name} />
          ))}
        </ul>
      )}
      <AddPasskey />
    </>
  )
}

function AddPasskey() {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const onSuccess = useWaysChanged()
  const add = useMutation({
    mutationFn: async (name: string) => {
      const options = await run(() => client.api.createPasskeyOptions())
      const response = await createPasskey(options)
      // The session may have become too old meanwhile.
      return run(() => client.api.addPasskey({ response, name }))
    },
    onSuccess,
  })
  return (
    <Form
      onFilled={(values, form) => add.mutate(String(values.get('name')), { onSuccess: () => form?.reset() })}
    >
      <Field
        label="Name of a new passkey"
        name="name"
        maxLength={64}
        hint="Such as the name of this device."
        required
      />
      <Problem error={add.error} />
      <div>
        <ActionButton type="submit" variant="soft" isPending={add.isPending}>
          Add a passkey
        </ActionButton>
      </div>
    </Form>
  )
}

function Passkey({ id, name }: Pick<PasskeyResponse, 'id' | 'name'>) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const onSuccess = useWaysChanged()
  const rename = useMutation({
    mutationFn: (values: FormData) => client.api.renamePasskey({ id, name: String(values.get('name')) }),
    onSuccess,
  })
  const remove = useMutation({ mutationFn: () => run(() => client.api.removePasskey({ id })), onSuccess })
  return (
    <li>
      <Form onFilled={(values) => rename.mutate(values)}>
        <Field label="Passkey" name="name" defaultValue={name} maxLength={64} required />
        <Problem error={rename.error ?? remove.error} />
        <Flex gap="3">
          <ActionButton type="submit" variant="soft" isPending={rename.isPending}>
            Rename
          </ActionButton>
          <ActionButton
            type="button"
            variant="soft"
            color="red"
            isPending={remove.isPending}
            onClick={() => remove.mutate()}
          >
            Remove
          </ActionButton>
        </Flex>
      </Form>
    </li>
  )
}
