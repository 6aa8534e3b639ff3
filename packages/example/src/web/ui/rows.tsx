import { Heading, Text } from '@radix-ui/themes'
import { Children, type ReactNode, useId } from 'react'
import { Empty } from './empty.tsx'
import { useFocusAfterRemoval } from './use-focus-after-removal.ts'

interface RowsProps {
  readonly title: string
  /** The text of an empty list. */
  readonly empty: string
  readonly children: readonly ReactNode[]
}

/** A complete list of cards and its count, which screen readers announce when it changes. */
export function Rows({ title, empty, children }: RowsProps) {
  const id = useId()
  const count = Children.count(children)
  const list = useFocusAfterRemoval(count)
  return (
    <section aria-labelledby={id}>
      <header className="rows-heading">
        <Heading as="h2" size="3" id={id}>
          {title}
        </Heading>
        <Text size="2" color="gray" role="status" aria-label={`${title}: ${count}`}>
          {count}
        </Text>
      </header>
      {count === 0 && <Empty>{empty}</Empty>}
      <ul className="rows" aria-labelledby={id} ref={list} tabIndex={-1}>
        {children}
      </ul>
    </section>
  )
}
