import { Button } from '@radix-ui/themes'
import type { ReactNode } from 'react'
import { Loading } from './loading.tsx'
import { Problem } from './problem.tsx'

interface LoadedProps<Data> {
  readonly query: {
    readonly data: Data | undefined
    readonly error: unknown
    readonly refetch: () => Promise<unknown>
  }
  /** The name of the data, such as `notes`. */
  readonly what: string
  readonly children: (data: Data) => ReactNode
}

/** Shows the data of a query, a skeleton while it is pending, and its error. */
export function Loaded<Data>({ query: { data, error, refetch }, what, children }: LoadedProps<Data>) {
  return (
    <>
      <Problem error={error} />
      {data !== undefined && children(data)}
      {data === undefined && !error && <Loading what={what} />}
      {data === undefined && Boolean(error) && (
        <div>
          <Button variant="soft" onClick={() => void refetch()}>
            Try again
          </Button>
        </div>
      )}
    </>
  )
}
