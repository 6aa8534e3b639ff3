import { useQuery } from '@tanstack/react-query'
import { useAppAuth, useTRPC } from '../clients.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { useChange } from '../use-change.ts'
import type { AdminUser } from './admin-user.ts'
import { UserSession } from './user-session.tsx'

/** The sessions of a user. When an admin revokes one, its browser is signed out at once. */
export function UserSessions({ user }: { readonly user: AdminUser }) {
  const { client } = useAppAuth()
  const trpc = useTRPC()
  const query = useQuery(trpc.admin.sessions.queryOptions({ userId: user.id }))
  const revokeAll = useChange('admin', () => client.api.revokeUserSessions({ userId: user.id }))
  return (
    <>
      <Loaded query={query} what="sessions">
        {({ sessions }) => (
          <>
            <Rows title="Sessions" empty="This user isn't signed in.">
              {sessions.map((session) => (
                <UserSession key={session.id} session={session} />
              ))}
            </Rows>
            {sessions.length > 1 && (
              <div>
                <ConfirmButton
                  title={`Revoke all sessions of ${user.email}?`}
                  description="All browsers of this user are signed out at once."
                  action="Revoke sessions"
                  isPending={revokeAll.isPending}
                  onConfirm={() => revokeAll.mutate()}
                >
                  Revoke all sessions
                </ConfirmButton>
              </div>
            )}
          </>
        )}
      </Loaded>
      <Problem error={revokeAll.error} />
    </>
  )
}
