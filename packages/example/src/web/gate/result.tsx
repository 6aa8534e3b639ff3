import { Badge, Code, Flex, Text } from '@radix-ui/themes'
import type { Look } from '../../gate/look.ts'
import type { Played } from '../../gate/play-scenario.ts'
import type { Scenario } from '../../gate/scenarios.ts'

/** Whether what happened is what the matrix says. */
export const isAsSpecified = (scenario: Scenario, { call }: Played): boolean =>
  call.result === scenario.result && call.experience === scenario.experience

interface ResultProps {
  readonly scenario: Scenario
  readonly played: Played
}

/** The result of both steps, the requests, and what the user sees. */
export function Result({ scenario, played }: ResultProps) {
  const { look, call } = played
  const isRight = isAsSpecified(scenario, played)
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
        {describe(look)}
      </Text>
      <ol className="exchanges" aria-label="Requests of the client">
        {call.exchanges.map(({ path, status, reason }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: one path may occur twice, and the order is all that there is
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

function describe({ jwt, session }: Look): string {
  const step1 = jwt.reason === null ? 'Step 1 open' : `Step 1 shut: ${jwt.reason}`
  if (session === null) return `${step1}. Step 2 was not asked.`
  return `${step1}. ${session.reason === null ? 'Step 2 open.' : `Step 2 shut: ${session.reason}.`}`
}
