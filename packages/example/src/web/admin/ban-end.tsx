import { Time } from '../ui/time.tsx'
import type { AuditRecord } from './admin-user.ts'

/** Until when a ban counts, ISO 8601; null is for ever. */
export const BanEnd = ({ until }: { readonly until: AuditRecord['detail'][string] | undefined }) =>
  typeof until === 'string' ? (
    <>
      until <Time value={until} />
    </>
  ) : (
    'for ever'
  )
