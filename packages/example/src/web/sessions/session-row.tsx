import { Badge, Card, Flex, Text } from '@radix-ui/themes'
import type { SessionResponse } from '@sallyport/core'
import { useAppAuth } from '../clients.ts'
import { Columns } from '../ui/columns.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { methodName } from '../ui/method-names.ts'
import { Problem } from '../ui/problem.tsx'
import { Time } from '../ui/time.tsx'
import { useChange } from '../use-change.ts'

export function SessionRow({ session }: { readonly session: SessionResponse }) {
  const { id, device, address, createdAt, lastSeenAt, expiresAt, amr, current } = session
  const { client } = useAppAuth()
  const revoke = useChange('sessions', () => client.api.revokeSession({ sessionId: id }))
  return (
    <Card asChild>
      <li className="tile">
        <div className="row">
          <Flex gap="2" align="center" wrap="wrap">
            <Text weight="medium" id={`device-${id}`}>
              {device ?? 'Unknown device'}
            </Text>
            {current && <Badge color="green">This browser</Badge>}
          </Flex>
          {!current && (
            <ConfirmButton
              id={`revoke-${id}`}
              // Two rows may have the same device.
              aria-labelledby={`revoke-${id} device-${id} facts-${id}`}
              title="Revoke this session?"
              description={`${device ?? 'Unknown device'} is signed out at once.`}
              action="Revoke session"
              isPending={revoke.isPending}
              onConfirm={() => revoke.mutate()}
            >
              Revoke
            </ConfirmButton>
          )}
        </div>
        <Columns
          id={`facts-${id}`}
          values={{
            Address: address ?? 'Unknown',
            'Signed in': <Time value={createdAt} />,
            'Signed in with': amr.map(methodName).join(', ') || 'Unknown',
            'Last seen': <Time value={lastSeenAt} />,
            Expires: <Time value={expiresAt} />,
          }}
        />
        <Problem error={revoke.error} />
      </li>
    </Card>
  )
}
