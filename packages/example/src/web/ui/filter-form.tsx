import { Button, Flex } from '@radix-ui/themes'
import { type ReactNode, useEffect, useRef } from 'react'
import { useSearchParams } from 'react-router'

interface FilterFormProps {
  /** The label of the submit button. */
  readonly action: string
  /** Fields with names. */
  readonly children: ReactNode
}

/** A form whose values become the query of the URL. Without JavaScript, the browser does the same. */
export function FilterForm({ action, children }: FilterFormProps) {
  const [search, setSearch] = useSearchParams()
  const form = useRef<HTMLFormElement>(null)
  const before = useRef(search)
  // Another URL resets the fields to its values. A new form would lose the focus.
  useEffect(() => {
    if (before.current !== search) form.current?.reset()
    before.current = search
  }, [search])
  return (
    <form
      ref={form}
      className="filters"
      onSubmit={(event) => {
        event.preventDefault()
        const values = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)])
        setSearch(values.filter(([, value]) => value !== '') as [string, string][])
      }}
    >
      {children}
      <Flex align="end">
        <Button type="submit" variant="soft">
          {action}
        </Button>
      </Flex>
    </form>
  )
}
