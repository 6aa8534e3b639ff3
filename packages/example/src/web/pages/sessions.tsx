import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { RevokeCopies } from '../sessions/revoke-copies.tsx'
import { RevokeOthers } from '../sessions/revoke-others.tsx'
import { SessionRow } from '../sessions/session-row.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Rows } from '../ui/rows.tsx'

/** Live: see `useLive`. */
export function Sessions() {
  const trpc = useTRPC()
  const query = useQuery(trpc.sessions.list.queryOptions())
  return (
    <div className="stack">
      <PageHeading title="Sessions">
        The browsers you are signed in on. When you revoke a session, that browser is signed out at once.
      </PageHeading>
      <Loaded query={query} what="sessions">
        {({ sessions }) => (
          <>
            <Rows title="Your sessions" empty="No sessions.">
              {sessions
                .toSorted((a, b) => Number(b.current) - Number(a.current))
                .map((session) => (
                  <SessionRow key={session.id} session={session} />
                ))}
            </Rows>
            {sessions.length > 1 && <RevokeOthers />}
          </>
        )}
      </Loaded>
      <RevokeCopies />
    </div>
  )
}
