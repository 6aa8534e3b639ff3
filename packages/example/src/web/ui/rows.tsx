import { Heading, Text } from '@radix-ui/themes'
import { Children, type ReactNode, useEffect, useId, useRef } from 'react'

interface RowsProps {
  readonly title: string
  /** What is said where there is none. */
  readonly empty: string
  readonly children: readonly ReactNode[]
}

/** A list of cards that changes by itself, and says how many there are. */
export function Rows({ title, empty, children }: RowsProps) {
  const id = useId()
  const list = useRef<HTMLUListElement>(null)
  const count = Children.count(children)
  const before = useRef(count)
  useEffect(() => {
    // Whoever has just removed a row from the keyboard goes on from here, not from the top of the page.
    if (count < before.current && document.activeElement === document.body)
      list.current?.focus({ preventScroll: true })
    before.current = count
  }, [count])
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
      {count === 0 && (
        <Text as="p" size="2" color="gray" className="empty">
          {empty}
        </Text>
      )}
      <ul className="rows" aria-labelledby={id} ref={list} tabIndex={-1}>
        {children}
      </ul>
    </section>
  )
}
