import { Dialog, Flex, Radio, Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useAppAuth } from '../clients.ts'
import { DialogActions } from '../ui/dialog-actions.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import { useChange } from '../use-change.ts'
import type { AdminUser } from './admin-user.ts'

const TIMES = [
  { name: '1 hour', seconds: 60 * 60 },
  { name: '1 day', seconds: 24 * 60 * 60 },
  { name: 'Permanent', seconds: null },
]

interface BanDialogProps {
  readonly user: AdminUser
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  /** Restores the focus. */
  readonly onClosed: () => void
}

/** Bans a user. Only admins see the reason. */
export function BanDialog({ user, isOpen, onOpenChange, onClosed }: BanDialogProps) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const ban = useChange('admin', (values: FormData) => {
    const reason = String(values.get('reason')).trim()
    const seconds = Number(values.get('seconds'))
    const input = {
      userId: user.id,
      ...(reason !== '' && { reason }),
      ...(seconds > 0 && { expiresIn: seconds }),
    }
    return run(() => client.api.banUser(input))
  })
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(open) => {
        onOpenChange(open)
        ban.reset()
      }}
    >
      <Dialog.Content
        maxWidth="26rem"
        onCloseAutoFocus={(event) => {
          event.preventDefault()
          onClosed()
        }}
      >
        <Dialog.Title>Ban {user.email}?</Dialog.Title>
        <Dialog.Description size="2" mb="4">
          The user's calls are rejected with “Account banned” from now on. Their sessions are kept until the
          ban ends.
        </Dialog.Description>
        <Form onFilled={(values) => ban.mutate(values, { onSuccess: () => onOpenChange(false) })}>
          <Field label="Reason" name="reason" maxLength={500} hint="Only admins can see it." />
          <fieldset className="choice">
            <Text as="span" size="2" weight="medium" asChild>
              <legend>Duration</legend>
            </Text>
            <Flex gap="4" wrap="wrap">
              {TIMES.map(({ name, seconds }, index) => (
                <Text as="label" size="2" key={name} className="option">
                  <Radio name="seconds" value={`${seconds ?? 0}`} defaultChecked={index === 0} />
                  {name}
                </Text>
              ))}
            </Flex>
          </fieldset>
          <Problem error={ban.error} />
          <DialogActions action="Ban" isPending={ban.isPending} />
        </Form>
      </Dialog.Content>
    </Dialog.Root>
  )
}
