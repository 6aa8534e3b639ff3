import { Time } from '../ui/time.tsx'

/** The end of a ban: an ISO 8601 date, or null for a permanent ban. */
export const BanEnd = ({ until }: { readonly until: unknown }) =>
  typeof until === 'string' ? (
    <>
      until <Time value={until} isExact />
    </>
  ) : (
    'permanently'
  )
