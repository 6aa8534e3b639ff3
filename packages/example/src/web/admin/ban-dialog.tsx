import { Button, Dialog, Flex, Radio, Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Problem } from '../ui/problem.tsx'
import type { AdminUser } from './admin-user.ts'
import { useChange } from './use-change.ts'

const TIMES = [
  { name: '1 hour', seconds: 60 * 60 },
  { name: '1 day', seconds: 24 * 60 * 60 },
  { name: 'For ever', seconds: null },
]

interface BanDialogProps {
  readonly user: AdminUser
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  /** Where the focus goes on. */
  readonly onClosed: () => void
}

/** Bans a user, for a reason that only admins read. */
export function BanDialog({ user, isOpen, onOpenChange, onClosed }: BanDialogProps) {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const ban = useChange((values: FormData) => {
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
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Content
        maxWidth="26rem"
        onCloseAutoFocus={(event) => {
          event.preventDefault()
          onClosed()
        }}
      >
        <Dialog.Title>Ban {user.email}?</Dialog.Title>
        <Dialog.Description size="2" mb="4">
          Every call is rejected with “Account banned” from now on, and live pages stop. The sessions stay for
          when the ban ends.
        </Dialog.Description>
        <Form onFilled={(values) => ban.mutate(values, { onSuccess: () => onOpenChange(false) })}>
          <Field label="Reason" name="reason" maxLength={500} hint="For admins: the user does not see it." />
          <fieldset className="choice">
            <Text as="span" size="2" weight="medium" asChild>
              <legend>For how long</legend>
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
          <Flex gap="3" justify="end">
            <Dialog.Close>
              <Button type="button" variant="soft" color="gray">
                Cancel
              </Button>
            </Dialog.Close>
            <ActionButton type="submit" variant="soft" color="red" isPending={ban.isPending}>
              Ban
            </ActionButton>
          </Flex>
        </Form>
      </Dialog.Content>
    </Dialog.Root>
  )
}
