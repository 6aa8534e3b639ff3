import { Card, Heading, Text } from '@radix-ui/themes'
import { type ReactNode, useId } from 'react'

interface SectionProps {
  readonly title: string
  /** A sentence below the title. */
  readonly hint: string
  readonly children: ReactNode
}

/** A part of a page with a title. */
export function Section({ title, hint, children }: SectionProps) {
  const id = useId()
  return (
    <Card asChild size="3">
      <section className="section" aria-labelledby={id}>
        <div>
          <Heading as="h2" size="3" id={id}>
            {title}
          </Heading>
          <Text as="p" size="2" color="gray">
            {hint}
          </Text>
        </div>
        <div>{children}</div>
      </section>
    </Card>
  )
}
