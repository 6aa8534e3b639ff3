import { Badge } from '@radix-ui/themes'
import { useAppAuth } from '../clients.ts'
import type { ListedUser } from './admin-user.ts'

/** Badges for the role and the ban of a user. */
export function Status({
  user: { id, role, ban },
}: {
  readonly user: Pick<ListedUser, 'id' | 'role' | 'ban'>
}) {
  const { userId } = useAppAuth()
  return (
    <>
      {role !== 'user' && <Badge>{role}</Badge>} {ban && <Badge color="red">Banned</Badge>}{' '}
      {id === userId && <Badge color="green">You</Badge>}
    </>
  )
}
