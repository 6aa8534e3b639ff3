import { Time } from '../ui/time.tsx'

/** Until when a ban counts, ISO 8601; null is for ever. */
export const BanEnd = ({ until }: { readonly until: unknown }) =>
  typeof until === 'string' ? (
    <>
      until <Time value={until} />
    </>
  ) : (
    'for ever'
  )
