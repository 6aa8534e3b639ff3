import { Card, Code, Grid, Heading, Text } from '@radix-ui/themes'
import { useId } from 'react'
import type { CookieInspection } from '../../gate/inspect-cookies.ts'
import { Time } from '../ui/time.tsx'
import { Facts } from './facts.tsx'
import { Remaining } from './remaining.tsx'
import { Step } from './step.tsx'

interface StepsProps {
  readonly inspection: CookieInspection
  /** When it was read, to restart the countdown. */
  readonly inspectedAt: number
}

/** Both checks, and the result of the next call from this browser. */
export function Steps({ inspection, inspectedAt }: StepsProps) {
  const { jwt, session, row } = inspection
  return (
    <div className="stack">
      <Grid columns={{ initial: '1', sm: '2' }} gap="4">
        <Step title="Step 1: the JWT" question="Is the token valid and unexpired?" reason={jwt.reason}>
          {jwt.identity && (
            <Facts
              facts={{
                Expires: <Remaining key={inspectedAt} seconds={jwt.identity.expiresIn} />,
                sessionId: <Code>{jwt.identity.sessionId}</Code>,
                userId: <Code>{jwt.identity.userId}</Code>,
                Key: <Code>{jwt.identity.keyId}</Code>,
              }}
            />
          )}
        </Step>
        <Step
          title="Step 2: the session"
          question="Is the session in the database still valid?"
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
        </Step>
      </Grid>
      <NextCall inspection={inspection} />
    </div>
  )
}

function NextCall({ inspection }: { readonly inspection: CookieInspection }) {
  const id = useId()
  const { status, reason, message } = inspection.next
  return (
    <Card asChild size="2">
      <section aria-labelledby={id}>
        <Heading as="h2" size="3" id={id}>
          The next call
        </Heading>
        <Text as="p" size="3" mt="1">
          would return <strong>{reason === null ? status : `${status} ${reason}`}</strong>: {message}
        </Text>
        <Text as="p" size="2" color="gray">
          {refreshOf(inspection)}
        </Text>
      </section>
    </Card>
  )
}

function refreshOf({ next, refreshHelps, rejectedRefresh }: CookieInspection): string {
  if (next.status === 200) return 'No refresh needed.'
  if (refreshHelps)
    return 'A refresh would help: the session is valid, so the token endpoint would set a new JWT. The client refreshes automatically.'
  return `A refresh would not help: the token endpoint would return ${rejectedRefresh ?? 'a JWT for another session'}.`
}
