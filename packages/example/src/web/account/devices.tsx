import { Badge, Link, Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { Link as RouterLink } from 'react-router'
import { useTRPC } from '../clients.ts'
import { Loaded } from '../ui/loaded.tsx'
import { Section } from '../ui/section.tsx'

/** Lists the browsers that are signed in. The Sessions page revokes them. */
export function Devices() {
  const trpc = useTRPC()
  const query = useQuery(trpc.sessions.list.queryOptions())
  return (
    <Section title="Devices" hint="The browsers that are signed in to your account.">
      <Loaded query={query} what="your devices">
        {({ sessions }) => (
          <div className="stack">
            <ul className="rows" aria-label="Devices">
              {sessions.map(({ id, device, current }) => (
                <li key={id} className="row">
                  <Text size="2">{device ?? 'Unknown device'}</Text>
                  {current && <Badge color="green">This browser</Badge>}
                </li>
              ))}
            </ul>
            <Link asChild size="2" underline="always">
              <RouterLink to="/sessions">Revoke sessions</RouterLink>
            </Link>
          </div>
        )}
      </Loaded>
    </Section>
  )
}
