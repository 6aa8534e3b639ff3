import { AlertDialog, Button, Flex } from '@radix-ui/themes'
import { useSensitive } from '@sallyport/trpc/react'
import { useAppAuth } from '../clients.ts'
import { Problem } from '../ui/problem.tsx'
import type { AdminUser } from './admin-user.ts'
import { useChange } from './use-change.ts'

/** Makes a user an admin, or an admin a user. */
export function RoleDialog({ user }: { readonly user: AdminUser }) {
  const { client } = useAppAuth()
  const role = user.role === 'admin' ? 'user' : 'admin'
  const { run } = useSensitive()
  const change = useChange(() => run(() => client.api.setRole({ userId: user.id, role })))
  return (
    <AlertDialog.Root>
      <AlertDialog.Trigger>
        <Button variant="soft" color="gray" aria-label={`Make ${ARTICLES[role]} ${role}: ${user.email}`}>
          {`Make ${ARTICLES[role]} ${role}`}
        </Button>
      </AlertDialog.Trigger>
      <AlertDialog.Content maxWidth="26rem">
        <AlertDialog.Title>
          Make {user.email} {ARTICLES[role]} {role}?
        </AlertDialog.Title>
        <AlertDialog.Description size="2">
          {role === 'admin'
            ? 'They can then revoke sessions, ban users and change roles, from their next call on.'
            : 'They keep their notes and reports, and lose this page at their next call.'}
        </AlertDialog.Description>
        <Problem error={change.error} />
        <Flex gap="3" mt="4" justify="end">
          <AlertDialog.Cancel>
            <Button variant="soft" color="gray">
              Cancel
            </Button>
          </AlertDialog.Cancel>
          <AlertDialog.Action>
            <Button onClick={() => change.mutate()}>Change role</Button>
          </AlertDialog.Action>
        </Flex>
      </AlertDialog.Content>
    </AlertDialog.Root>
  )
}

const ARTICLES = { admin: 'an', user: 'a' } as const
