import { Link, Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { Link as RouterLink, useParams } from 'react-router'
import { UserActions } from '../admin/user-actions.tsx'
import { UserFactors } from '../admin/user-factors.tsx'
import { UserProfile } from '../admin/user-profile.tsx'
import { UserSessions } from '../admin/user-sessions.tsx'
import { useTRPC } from '../clients.ts'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { useLiveForAdmins } from '../use-live.ts'

/** One user, for admins, live. */
export function User() {
  const { id: userId = '' } = useParams()
  const trpc = useTRPC()
  const query = useQuery(trpc.admin.user.queryOptions({ userId }))
  useLiveForAdmins()
  return (
    <div className="stack">
      <PageHeading title="User">{query.data?.email}</PageHeading>
      <Loaded query={query} what="the user">
        {(user) => (
          <>
            <UserProfile user={user} />
            <UserActions user={user} />
            <UserFactors user={user} />
            <UserSessions user={user} />
            <Text as="p" size="2">
              <Link asChild underline="always">
                <RouterLink
                  to={{ pathname: '/admin/audit', search: `?user=${encodeURIComponent(user.email)}` }}
                >
                  Audit trail of this user
                </RouterLink>
              </Link>
            </Text>
          </>
        )}
      </Loaded>
      <Text as="p" size="2">
        <Link asChild underline="always">
          <RouterLink to="/admin">All users</RouterLink>
        </Link>
      </Text>
    </div>
  )
}
