import { Callout, Heading, Text } from '@radix-ui/themes'
import { useQueryClient } from '@tanstack/react-query'
import { useId } from 'react'
import { SCENARIOS } from '../../gate/scenarios.ts'
import { useAppAuth, useTRPC } from '../clients.ts'
import { Problem } from '../ui/problem.tsx'
import { isAsSpecified } from './result.tsx'
import { ScenarioRow } from './scenario-row.tsx'
import { runScenario, useScenarioRuns } from './scenario-runs.ts'

/** A button for each row of the scenario matrix. */
export function ScenarioList() {
  const id = useId()
  const { client } = useAppAuth()
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const { running, latest, results, problem } = useScenarioRuns()
  const scenario = SCENARIOS.find(({ name }) => name === latest)
  const outcome = scenario && results[scenario.name]
  return (
    <section className="stack" aria-labelledby={id}>
      <div>
        <Heading as="h2" size="4" id={id}>
          The seven states
        </Heading>
        <Text as="p" size="2" color="gray">
          Each button puts this browser into one of the seven states and compares the actual response with the
          expected one. The server makes the call, with the client of the app.
        </Text>
      </div>
      <Callout.Root size="1">
        <Callout.Text>
          A button signs out the current user and signs this browser in as the gate’s user, gate@localhost.
        </Callout.Text>
      </Callout.Root>
      <Problem error={problem} />
      <Text as="p" size="2" role="status">
        {scenario &&
          outcome &&
          `${scenario.title}: ${outcome.call.result}, ${outcome.call.experience}. ${
            isAsSpecified(scenario, outcome) ? 'As specified.' : 'Not as specified.'
          }`}
      </Text>
      <ul className="rows">
        {SCENARIOS.map((each) => (
          <ScenarioRow
            key={each.name}
            scenario={each}
            run={results[each.name]}
            isLatest={each.name === latest}
            running={running}
            onRun={() =>
              void runScenario(each.name, client).then(() =>
                queryClient.invalidateQueries(trpc.gate.pathFilter()),
              )
            }
          />
        ))}
      </ul>
    </section>
  )
}
