import { useNow } from './clock.tsx'
import { relativeTime } from './relative-time.ts'
import { useHydrated } from './use-hydrated.ts'

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/**
 * A relative time, or with `isExact` the exact one; the other appears on hover. The server doesn't know the
 * user's time zone and uses UTC.
 */
export function Time({ value, isExact = false }: { readonly value: string; readonly isExact?: boolean }) {
  const now = useNow()
  const exact = useHydrated() ? local.format(new Date(value)) : `${value.slice(0, 19).replace('T', ' ')} UTC`
  const relative = relativeTime(Date.parse(value) - now)
  return (
    <time dateTime={value} title={isExact ? relative : exact} className="time">
      {isExact ? exact : relative}
    </time>
  )
}
