import { Badge, Button, Card, Flex, Text } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useId, useRef, useState } from 'react'
import { useAppAuth } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'
import type { AdminUser } from './admin-user.ts'
import { BanDialog } from './ban-dialog.tsx'
import { BanEnd } from './ban-end.tsx'
import { RoleDialog } from './role-dialog.tsx'
import { useChange } from './use-change.ts'
import { UserSessions } from './user-sessions.tsx'

/** A user, and what an admin may do about them. */
export function UserRow({ user }: { readonly user: AdminUser }) {
  const { id, name, email, role, ban } = user
  const { userId } = useAppAuth()
  return (
    <Card asChild>
      <li className="user">
        <Flex gap="2" align="center" wrap="wrap">
          <Text weight="medium">{name}</Text>
          {role !== 'user' && <Badge>{role}</Badge>}
          {ban && <Badge color="red">Banned</Badge>}
          {id === userId && <Badge color="green">You</Badge>}
        </Flex>
        <Text as="p" size="2" color="gray">
          {email}
        </Text>
        {ban && (
          <Text as="p" size="2" color="gray">
            Banned <BanEnd until={ban.until} />
            {ban.reason && `: ${ban.reason}`}
          </Text>
        )}
        {id === userId ? (
          <Text as="p" size="2" color="gray">
            No admin can ban themselves or change their own role: so there is always one left.
          </Text>
        ) : (
          <Actions user={user} />
        )}
      </li>
    </Card>
  )
}

function Actions({ user }: { readonly user: AdminUser }) {
  const { client } = useAppAuth()
  const panel = useId()
  const banButton = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const [isBanning, setIsBanning] = useState(false)
  const { run } = useSensitive()
  const unban = useChange(() => run(() => client.api.unbanUser({ userId: user.id })))
  return (
    <>
      <Flex gap="2" mt="2" wrap="wrap">
        <Button
          variant="soft"
          color="gray"
          aria-expanded={isOpen}
          aria-controls={panel}
          aria-label={`Sessions of ${user.email}`}
          onClick={() => setIsOpen(!isOpen)}
        >
          Sessions
        </Button>
        <RoleDialog user={user} />
        <ActionButton
          ref={banButton}
          variant="soft"
          color={user.ban === null ? 'red' : 'green'}
          aria-label={user.ban === null ? `Ban ${user.email}` : `Lift the ban of ${user.email}`}
          isPending={unban.isPending}
          onClick={() => (user.ban === null ? setIsBanning(true) : unban.mutate())}
        >
          {user.ban === null ? 'Ban' : 'Lift the ban'}
        </ActionButton>
        <BanDialog
          user={user}
          isOpen={isBanning}
          onOpenChange={setIsBanning}
          onClosed={() => banButton.current?.focus()}
        />
      </Flex>
      <Problem error={unban.error} />
      <div id={panel}>{isOpen && <UserSessions user={user} />}</div>
    </>
  )
}
