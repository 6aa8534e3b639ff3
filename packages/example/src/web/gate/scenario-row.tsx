import { Card, Heading, Text } from '@radix-ui/themes'
import { useEffect, useRef } from 'react'
import type { ScenarioRun } from '../../gate/run-scenario.ts'
import type { Experience, Scenario, ScenarioName } from '../../gate/scenarios.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Result } from './result.tsx'

interface ScenarioRowProps {
  readonly scenario: Scenario
  readonly run: ScenarioRun | undefined
  /** Whether this scenario ran last. */
  readonly isLatest: boolean
  /** The scenario in progress. */
  readonly running: ScenarioName | null
  readonly onRun: () => void
}

/** A row of the matrix: the specified result, and the actual one after a run. */
export function ScenarioRow({ scenario, run, isLatest, running, onRun }: ScenarioRowProps) {
  const { name, title, jwt, session, result, experience } = scenario
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    // The scenario has remounted the page, which lost the focus.
    if (isLatest && running === null && document.activeElement === document.body)
      button.current?.focus({ preventScroll: true })
  }, [isLatest, running])
  return (
    <Card asChild>
      <li className="scenario" data-scenario={name}>
        <div>
          <Heading as="h3" size="2">
            {title}
          </Heading>
          <Text as="p" size="2" color="gray">
            JWT {jwt} · session {session}
          </Text>
          <Text as="p" size="2" color="gray">
            Specified: {result} · {experience}
            {IN_THIS_APP[experience]}
          </Text>
        </div>
        <ActionButton
          ref={button}
          variant="soft"
          aria-label={`Try it: ${title}`}
          isPending={running === name}
          onClick={onRun}
        >
          Try it
        </ActionButton>
        {run && <Result scenario={scenario} run={run} />}
      </li>
    </Card>
  )
}

const IN_THIS_APP: Readonly<Partial<Record<Experience, string>>> = {
  'Redirected to login': ' (this app shows the sign-in form in place of the page)',
  'Logged out on next request': ' (this app shows the sign-in form in place of the page)',
}
