import { Text } from '@radix-ui/themes'
import { useQuery } from '@tanstack/react-query'
import { useTRPC } from '../clients.ts'
import { ScenarioList } from '../gate/scenario-list.tsx'
import { Steps } from '../gate/steps.tsx'
import { PageHeading } from '../ui/page-heading.tsx'
import { Problem } from '../ui/problem.tsx'

const LOOK_AGAIN_MS = 3_000

/** The server looks at the cookies, as no script can: they are HttpOnly. */
export function Gate() {
  const trpc = useTRPC()
  const {
    data: look,
    error,
    dataUpdatedAt,
  } = useQuery(trpc.gate.look.queryOptions(undefined, { refetchInterval: LOOK_AGAIN_MS }))
  return (
    <div className="stack">
      <PageHeading title="Gate">
        Every call passes two checks in this order. This page shows their result for this browser’s cookies.
      </PageHeading>
      <Problem error={error} />
      {look && <Steps look={look} lookedAt={dataUpdatedAt} />}
      {look?.hasScenarios === false && (
        <Text as="p" size="2" color="gray">
          In development this page also puts the browser into each of the seven states. In production it does
          not.
        </Text>
      )}
      {look?.hasScenarios && <ScenarioList />}
    </div>
  )
}
