import { Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useAppAuth, useTRPC, useTRPCClient } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { Time } from '../ui/time.tsx'
import type { AdminUser } from './admin-user.ts'
import { useChange } from './use-change.ts'

/** Where a user is signed in. Whoever loses a session is shown the sign-in at once. */
export function UserSessions({ user }: { readonly user: AdminUser }) {
  const { client } = useAppAuth()
  const trpc = useTRPC()
  const trpcClient = useTRPCClient()
  const { data, error } = useQuery(trpc.admin.sessions.queryOptions({ userId: user.id }))
  const revoke = useChange((sessionId: string) => trpcClient.admin.revokeSession.mutate({ sessionId }))
  const revokeAll = useChange(() => client.api.revokeUserSessions({ userId: user.id }))
  return (
    <div className="stack sessions">
      <Problem error={error ?? revoke.error ?? revokeAll.error} />
      <Rows title={`Sessions of ${user.email}`} empty="Signed in nowhere.">
        {(data?.sessions ?? []).map(({ id, device, address, lastSeenAt }) => (
          <li className="row" key={id}>
            <Text size="2" id={`session-${id}`}>
              {device ?? 'Unknown device'} · {address ?? 'unknown address'} · last seen{' '}
              <Time value={lastSeenAt} />
            </Text>
            <ActionButton
              size="1"
              variant="soft"
              color="red"
              id={`revoke-${id}`}
              aria-labelledby={`revoke-${id} session-${id}`}
              isPending={revoke.isPending && revoke.variables === id}
              onClick={() => revoke.mutate(id)}
            >
              Revoke
            </ActionButton>
          </li>
        ))}
      </Rows>
      {data && data.sessions.length > 1 && (
        <div>
          <ActionButton
            size="1"
            variant="soft"
            color="red"
            aria-label={`Revoke all sessions of ${user.email}`}
            isPending={revokeAll.isPending}
            onClick={() => revokeAll.mutate()}
          >
            Revoke all
          </ActionButton>
        </div>
      )}
    </div>
  )
}
