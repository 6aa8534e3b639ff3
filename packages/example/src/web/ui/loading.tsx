import { Skeleton, Text } from '@radix-ui/themes'

const ROWS = ['first', 'second', 'third']

/** The place of rows that are being fetched. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <div className="loading" role="status" aria-busy="true">
      <Text as="p" size="2" color="gray">
        Loading {what} …
      </Text>
      {ROWS.map((row) => (
        <Skeleton key={row} className="loading-row" />
      ))}
    </div>
  )
}
