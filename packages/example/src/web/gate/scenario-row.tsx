import { Card, Heading, Text } from '@radix-ui/themes'
import { useEffect, useRef } from 'react'
import type { Played } from '../../gate/play-scenario.ts'
import type { Experience, Scenario, ScenarioName } from '../../gate/scenarios.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Result } from './result.tsx'

interface ScenarioRowProps {
  readonly scenario: Scenario
  readonly played: Played | undefined
  /** Whether this one was played last. */
  readonly isLatest: boolean
  /** The one that is being played. */
  readonly playing: ScenarioName | null
  readonly onPlay: () => void
}

/** A row of the matrix: what is specified, and once it has been played, what happened. */
export function ScenarioRow({ scenario, played, isLatest, playing, onPlay }: ScenarioRowProps) {
  const { name, title, jwt, session, result, experience } = scenario
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    // The page was built anew meanwhile, and nothing is focused any more.
    if (isLatest && playing === null && document.activeElement === document.body)
      button.current?.focus({ preventScroll: true })
  }, [isLatest, playing])
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
          isPending={playing === name}
          onClick={onPlay}
        >
          Try it
        </ActionButton>
        {played && <Result scenario={scenario} played={played} />}
      </li>
    </Card>
  )
}

const IN_THIS_APP: Readonly<Partial<Record<Experience, string>>> = {
  'Redirected to login': ' (here: the sign-in takes the place of the page)',
  'Logged out on next request': ' (here: the sign-in takes the place of the page)',
}
