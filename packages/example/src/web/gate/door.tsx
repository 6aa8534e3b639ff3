import { Badge, Card, Code, Flex, Heading, Text } from '@radix-ui/themes'
import { type ReactNode, useId } from 'react'

interface DoorProps {
  readonly title: string
  readonly question: string
  /** Why it is shut; null where it is open, undefined where nobody has asked it. */
  readonly reason: string | null | undefined
  readonly children: ReactNode
}

/** One of the two doors, as it stands for the next call. */
export function Door({ title, question, reason, children }: DoorProps) {
  const id = useId()
  const isOpen = reason === null
  return (
    <Card asChild size="2">
      <section aria-labelledby={id}>
        <Flex gap="4" align="start">
          <DoorImage isOpen={isOpen} />
          <div>
            <Heading as="h2" size="3" id={id}>
              {title}
            </Heading>
            <Text as="p" size="2" color="gray">
              {question}
            </Text>
            <Flex gap="2" mt="1" align="center" wrap="wrap">
              <Badge color={isOpen ? 'green' : reason === undefined ? 'gray' : 'red'}>
                {isOpen ? 'Open' : reason === undefined ? 'Shut: not asked' : 'Shut'}
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

/** The leaf fills its frame, or stands ajar. */
function DoorImage({ isOpen }: { readonly isOpen: boolean }) {
  return (
    <svg className="door" data-open={isOpen} aria-hidden="true" width="56" height="72" viewBox="0 0 56 72">
      <path className="door-frame" d="M6 70V4h44v66" />
      <path className="door-leaf" d={isOpen ? 'M6 4l18 7v61L6 70z' : 'M9 7h38v63H9z'} />
      <circle className="door-handle" cx={isOpen ? 20 : 41} cy="40" r="2.5" />
      <path className="door-frame" d="M0 70h56" />
    </svg>
  )
}
