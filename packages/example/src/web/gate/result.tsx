import { Badge, Code, Flex, Text } from '@radix-ui/themes'
import type { CookieInspection } from '../../gate/inspect-cookies.ts'
import type { ScenarioRun } from '../../gate/run-scenario.ts'
import type { Scenario } from '../../gate/scenarios.ts'

/** Returns whether the result is what the matrix specifies. */
export const isAsSpecified = (scenario: Scenario, { call }: ScenarioRun): boolean =>
  call.result === scenario.result && call.experience === scenario.experience

interface ResultProps {
  readonly scenario: Scenario
  readonly run: ScenarioRun
}

/** The result of both steps, the requests, and what the user sees. */
export function Result({ scenario, run }: ResultProps) {
  const { inspection, call } = run
  const isRight = isAsSpecified(scenario, run)
  return (
    <div className="result">
      <Flex gap="2" align="center" wrap="wrap">
        <Badge color={isRight ? 'green' : 'red'}>{isRight ? '✓ As specified' : '✗ Not as specified'}</Badge>
        <Text size="2" weight="medium">
          {call.result} · {call.experience}
        </Text>
        {call.message && <Text size="2">“{call.message}”</Text>}
      </Flex>
      <Text as="p" size="2" color="gray">
        {describe(inspection)}
      </Text>
      <ol className="exchanges" aria-label="Requests of the client">
        {call.exchanges.map(({ path, status, reason }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a path may occur twice, and rows never move
          <li key={index}>
            <Code size="2" variant="ghost">
              GET {path} → {status} {reason}
            </Code>
          </li>
        ))}
      </ol>
    </div>
  )
}

function describe({ jwt, session }: CookieInspection): string {
  const step1 = jwt.reason === null ? 'Step 1 passed' : `Step 1 failed: ${jwt.reason}`
  if (session === null) return `${step1}. Step 2 did not run.`
  return `${step1}. ${session.reason === null ? 'Step 2 passed.' : `Step 2 failed: ${session.reason}.`}`
}
