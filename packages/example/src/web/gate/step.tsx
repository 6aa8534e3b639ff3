import { Badge, Card, Code, Flex, Heading, Text } from '@radix-ui/themes'
import { type ReactNode, useId } from 'react'

interface StepProps {
  readonly title: string
  readonly question: string
  /** Why the check fails; null if it passes, undefined if it doesn't run. */
  readonly reason: string | null | undefined
  readonly children: ReactNode
}

/** One of the two checks and its result for the next call. */
export function Step({ title, question, reason, children }: StepProps) {
  const id = useId()
  const passes = reason === null
  return (
    <Card asChild size="2">
      <section aria-labelledby={id}>
        <Flex gap="4" align="start">
          <GateImage isOpen={passes} />
          <div>
            <Heading as="h2" size="3" id={id}>
              {title}
            </Heading>
            <Text as="p" size="2" color="gray">
              {question}
            </Text>
            <Flex gap="2" mt="1" align="center" wrap="wrap">
              <Badge color={passes ? 'green' : reason === undefined ? 'gray' : 'red'}>
                {passes ? 'Passes' : reason === undefined ? 'Not checked' : 'Fails'}
              </Badge>
              {reason && <Code size="2">{reason}</Code>}
            </Flex>
          </div>
        </Flex>
        {children}
      </section>
    </Card>
  )
}

function GateImage({ isOpen }: { readonly isOpen: boolean }) {
  return (
    <svg className="gate" data-open={isOpen} aria-hidden="true" width="56" height="72" viewBox="0 0 56 72">
      <path className="gate-frame" d="M6 70V4h44v66" />
      <path className="gate-leaf" d={isOpen ? 'M6 4l18 7v61L6 70z' : 'M9 7h38v63H9z'} />
      <circle className="gate-handle" cx={isOpen ? 20 : 41} cy="40" r="2.5" />
      <path className="gate-frame" d="M0 70h56" />
    </svg>
  )
}
