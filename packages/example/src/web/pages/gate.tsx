import { Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { ScenarioList } from '../gate/scenario-list.tsx'
import { Steps } from '../gate/steps.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageHeading } from '../ui/page-heading.tsx'

const REFETCH_INTERVAL_MS = 3_000

/** The server inspects the cookies. Scripts can't read them, because they are HttpOnly. */
export function Gate() {
  const trpc = useTRPC()
  const query = useQuery(trpc.gate.inspect.queryOptions(undefined, { refetchInterval: REFETCH_INTERVAL_MS }))
  return (
    <div className="stack">
      <PageHeading title="Gate">
        Every call passes two checks in this order. This page shows their result for this browser’s cookies.
      </PageHeading>
      <Loaded query={query} what="the result of both checks">
        {(inspection) => (
          <>
            <Steps inspection={inspection} inspectedAt={query.dataUpdatedAt} />
            {inspection.hasScenarios ? (
              <ScenarioList />
            ) : (
              <Text as="p" size="2" color="gray">
                In development, this page can put the browser into each of the seven states.
              </Text>
            )}
          </>
        )}
      </Loaded>
    </div>
  )
}
