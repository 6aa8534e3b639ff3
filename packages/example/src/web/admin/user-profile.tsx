import { Card } from '@radix-ui/themes'
import { Columns } from '../ui/columns.tsx'
import { Time } from '../ui/time.tsx'
import type { AdminUser } from './admin-user.ts'
import { BanEnd } from './ban-end.tsx'
import { Status } from './status.tsx'

/** The user's row, and their ban. */
export function UserProfile({ user }: { readonly user: AdminUser }) {
  const { id, name, email, emailVerified, role, locale, createdAt, ban } = user
  return (
    <Card>
      <Status user={user} />
      <Columns
        id="profile"
        values={{
          Name: name,
          Email: `${email} (${emailVerified ? 'confirmed' : 'not confirmed'})`,
          Role: role,
          Language: locale,
          Created: <Time value={createdAt} />,
          Id: id,
          ...(ban && {
            Ban: (
              <>
                Banned <BanEnd until={ban.until} />
                {ban.reason && `: ${ban.reason}`}
              </>
            ),
          }),
        }}
      />
    </Card>
  )
}
