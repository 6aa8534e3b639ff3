import { Card, Text } from '@radix-ui/themes'
import type { SessionResponse } from '@sallyport/core'
import { useTRPCClient } from '../clients.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { Time } from '../ui/time.tsx'
import { useChange } from '../use-change.ts'

export function UserSession({ session }: { readonly session: SessionResponse }) {
  const { id, device, address, lastSeenAt } = session
  const client = useTRPCClient()
  const revoke = useChange('admin', () => client.admin.revokeSession.mutate({ sessionId: id }))
  return (
    <Card asChild size="1">
      <li className="tile">
        <div className="row">
          <Text size="2" id={`session-${id}`}>
            {device ?? 'Unknown device'} · {address ?? 'unknown address'} · last seen{' '}
            <Time value={lastSeenAt} />
          </Text>
          <ConfirmButton
            size="1"
            id={`revoke-${id}`}
            aria-labelledby={`revoke-${id} session-${id}`}
            title="Revoke this session?"
            description={`${device ?? 'Unknown device'} is signed out at once.`}
            action="Revoke session"
            isPending={revoke.isPending}
            onConfirm={() => revoke.mutate()}
          >
            Revoke
          </ConfirmButton>
        </div>
        <Problem error={revoke.error} />
      </li>
    </Card>
  )
}
