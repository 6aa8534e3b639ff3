import { useSensitive } from '@sallyport/trpc/react'
import { useAppAuth } from '../clients.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { useChange } from '../use-change.ts'
import type { AdminUser } from './admin-user.ts'

const TEXTS = {
  admin: {
    label: 'Make an admin',
    description: 'From the next call on, this user can revoke sessions, ban users, and change roles.',
  },
  user: {
    label: 'Make a user',
    description: 'From the next call on, this user can no longer open the pages for admins.',
  },
}

/** Makes a user an admin, or an admin a user. */
export function ChangeRole({ user }: { readonly user: AdminUser }) {
  const { client } = useAppAuth()
  const role = user.role === 'admin' ? 'user' : 'admin'
  const { run } = useSensitive()
  const change = useChange('admin', () => run(() => client.api.setRole({ userId: user.id, role })))
  const { label, description } = TEXTS[role]
  return (
    <>
      <ConfirmButton
        color="gray"
        title={`${label}: ${user.email}?`}
        description={description}
        action="Change role"
        isPending={change.isPending}
        onConfirm={() => change.mutate()}
      >
        {label}
      </ConfirmButton>
      <Problem error={change.error} />
    </>
  )
}
