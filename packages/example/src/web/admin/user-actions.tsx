import { Flex, Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useRef, useState } from 'react'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { useChange } from '../use-change.ts'
import type { AdminUser } from './admin-user.ts'
import { BanDialog } from './ban-dialog.tsx'
import { ChangeRole } from './change-role.tsx'
import { ResetFactors } from './reset-factors.tsx'

/** Changes the role and the ban. The server asks for the password if the admin's session isn't fresh. */
export function UserActions({ user }: { readonly user: AdminUser }) {
  const { client, userId } = useAppAuth()
  const banButton = useRef<HTMLButtonElement>(null)
  const [isBanning, setIsBanning] = useState(false)
  const { run } = useSensitive()
  const unban = useChange('admin', () => run(() => client.api.unbanUser({ userId: user.id })))
  if (user.id === userId)
    return (
      <Text as="p" size="2" color="gray">
        Admins can't change their own role or ban themselves, so one admin always remains.
      </Text>
    )
  return (
    <>
      <Flex gap="2" wrap="wrap">
        <ChangeRole user={user} />
        <ResetFactors user={user} />
        <ActionButton
          ref={banButton}
          variant="soft"
          color={user.ban === null ? 'red' : 'green'}
          isPending={unban.isPending}
          onClick={() => (user.ban === null ? setIsBanning(true) : unban.mutate())}
        >
          {user.ban === null ? 'Ban' : 'Lift ban'}
        </ActionButton>
        <BanDialog
          user={user}
          isOpen={isBanning}
          onOpenChange={setIsBanning}
          onClosed={() => banButton.current?.focus()}
        />
      </Flex>
      <Problem error={unban.error} />
    </>
  )
}
