import { Badge, Card, Flex, Text } from '@radix-ui/themes'
import type { SessionResponse } from '@sallyport/core'
import { useSensitive } from '@sallyport/trpc/react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useAppAuth, useTRPC } from '../clients.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Columns } from '../ui/columns.tsx'
import { Done } from '../ui/done.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'
import { Rows } from '../ui/rows.tsx'
import { Section } from '../ui/section.tsx'
import { Time } from '../ui/time.tsx'

/** The rows change by themselves when someone signs in, here or elsewhere: see `useLive`. */
export function Sessions() {
  const trpc = useTRPC()
  const { data, error } = useQuery(trpc.sessions.list.queryOptions())
  const ownFirst = data?.sessions.toSorted((a, b) => Number(b.current) - Number(a.current))
  return (
    <div className="stack">
      <PageHeading title="Sessions">
        Where you are signed in. A session that is revoked ends at once, and its browser shows the sign-in.
      </PageHeading>
      <Problem error={error} />
      {ownFirst && (
        <Rows title="Your sessions" empty="None.">
          {ownFirst.map((session) => (
            <SessionRow key={session.id} session={session} />
          ))}
        </Rows>
      )}
      {ownFirst && ownFirst.length > 1 && <SignOutOthers />}
      <Copies />
    </div>
  )
}

function SessionRow({ session }: { readonly session: SessionResponse }) {
  const { id, device, address, createdAt, lastSeenAt, expiresAt, current } = session
  const { client } = useAppAuth()
  const revoke = useRevocation(() => client.api.revokeSession({ sessionId: id }))
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
            <ActionButton
              variant="soft"
              color="red"
              id={`revoke-${id}`}
              // Of two rows with the same browser the times tell which is which.
              aria-labelledby={`revoke-${id} device-${id} facts-${id}`}
              isPending={revoke.isPending}
              onClick={() => revoke.mutate()}
            >
              Revoke
            </ActionButton>
          )}
        </div>
        <Columns
          id={`facts-${id}`}
          values={{
            Address: address ?? 'unknown',
            'Signed in': <Time value={createdAt} />,
            'Last seen': <Time value={lastSeenAt} />,
            'Ends by itself': <Time value={expiresAt} />,
          }}
        />
        <Problem error={revoke.error} />
      </li>
    </Card>
  )
}

function SignOutOthers() {
  const { client } = useAppAuth()
  const revoke = useRevocation(() => client.api.revokeOtherSessions())
  return (
    <div>
      <ActionButton variant="soft" color="red" isPending={revoke.isPending} onClick={() => revoke.mutate()}>
        Sign out everywhere else
      </ActionButton>
      <Problem error={revoke.error} />
    </div>
  )
}

/** Gives this browser new credentials. A session that isn't fresh asks for the password first. */
function Copies() {
  const { client } = useAppAuth()
  const { run } = useSensitive()
  const revoke = useMutation({ mutationFn: () => run(() => client.api.revokeCopies()) })
  return (
    <Section
      title="Copies of this session"
      hint="If someone copied the cookies of this browser, sign them out. You stay signed in here."
    >
      <div className="stack">
        <Done message={revoke.isSuccess && 'Done. Only this browser is still signed in to this session.'} />
        <Problem error={revoke.error} />
        <div>
          <ActionButton
            variant="soft"
            color="red"
            isPending={revoke.isPending}
            onClick={() => revoke.mutate()}
          >
            Sign out copies
          </ActionButton>
        </div>
      </div>
    </Section>
  )
}

function useRevocation(revoke: () => Promise<unknown>) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: revoke,
    onSuccess: () => queryClient.invalidateQueries(trpc.sessions.pathFilter()),
  })
}
