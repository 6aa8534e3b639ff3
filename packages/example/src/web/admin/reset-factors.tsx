import { Dialog } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useState } from 'react'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { DialogActions } from '../ui/dialog-actions.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { useChange } from '../use-change.ts'
import type { AdminUser } from './admin-user.ts'

/** Removes the second factors of a user who has lost them. */
export function ResetFactors({ user }: { readonly user: AdminUser }) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const [isOpen, setIsOpen] = useState(false)
  const reset = useChange('admin', (values: FormData) => {
    const reason = String(values.get('reason'))
    return run(() => client.api.resetUserFactors({ userId: user.id, reason }))
  })
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(open) => {
        setIsOpen(open)
        reset.reset()
      }}
    >
      <Dialog.Trigger>
        <ActionButton variant="soft" color="gray" isPending={reset.isPending}>
          Reset factors
        </ActionButton>
      </Dialog.Trigger>
      <Dialog.Content maxWidth="26rem">
        <Dialog.Title>Remove the second factors of {user.email}?</Dialog.Title>
        <Dialog.Description size="2" mb="4">
          First, verify who the user is. This also ends all their sessions and sends them an email.
        </Dialog.Description>
        <Form onFilled={(values) => reset.mutate(values, { onSuccess: () => setIsOpen(false) })}>
          <Field
            label="Reason"
            name="reason"
            maxLength={500}
            hint="How you verified who the user is. Only admins can see it."
            required
          />
          <Problem error={reset.error} />
          <DialogActions action="Remove" isPending={reset.isPending} />
        </Form>
      </Dialog.Content>
    </Dialog.Root>
  )
}
