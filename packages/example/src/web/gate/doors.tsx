import { Card, Code, Grid, Heading, Text } from '@radix-ui/themes'
import { useId } from 'react'
import type { Look } from '../../gate/look.ts'
import { Time } from '../ui/time.tsx'
import { Door } from './door.tsx'
import { Facts } from './facts.tsx'
import { Remaining } from './remaining.tsx'

interface DoorsProps {
  readonly look: Look
  /** Tells one look from the next. */
  readonly lookedAt: number
}

/** Both doors, and what they mean for the next call of this browser. */
export function Doors({ look, lookedAt }: DoorsProps) {
  const { jwt, session, row } = look
  return (
    <div className="stack">
      <Grid columns={{ initial: '1', sm: '2' }} gap="4">
        <Door title="Step 1: the JWT" question="Is it one of ours, and in time?" reason={jwt.reason}>
          {jwt.identity && (
            <Facts
              facts={{
                Expires: <Remaining key={lookedAt} seconds={jwt.identity.expiresIn} />,
                sessionId: <Code>{jwt.identity.sessionId}</Code>,
                userId: <Code>{jwt.identity.userId}</Code>,
                Key: <Code>{jwt.identity.keyId}</Code>,
              }}
            />
          )}
        </Door>
        <Door
          title="Step 2: the session"
          question="Does the database say that it still counts?"
          reason={session?.reason}
        >
          {row && (
            <Facts
              facts={{
                User: row.email,
                Banned: row.banned ? 'yes' : 'no',
                Expires: <Time value={row.expiresAt} />,
                'Last seen': <Time value={row.lastSeenAt} />,
                Device: row.device && <Text truncate>{row.device}</Text>,
              }}
            />
          )}
        </Door>
      </Grid>
      <NextCall look={look} />
    </div>
  )
}

function NextCall({ look }: { readonly look: Look }) {
  const id = useId()
  const { status, reason, message } = look.next
  return (
    <Card asChild size="2">
      <section aria-labelledby={id}>
        <Heading as="h2" size="3" id={id}>
          The next call
        </Heading>
        <Text as="p" size="3" mt="1">
          would answer <strong>{reason === null ? status : `${status} ${reason}`}</strong>: {message}.
        </Text>
        <Text as="p" size="2" color="gray">
          {refreshOf(look)}
        </Text>
      </section>
    </Card>
  )
}

function refreshOf({ next, refreshHelps, refusedRefresh }: Look): string {
  if (next.status === 200) return 'It needs no refresh.'
  if (refreshHelps)
    return 'A refresh would help: the session counts, so the token endpoint would set a new JWT. The client does it by itself.'
  return `A refresh would not help: the token endpoint would answer ${refusedRefresh ?? 'a JWT for another session'}.`
}
