import { useNow } from './clock.tsx'
import { relativeTime } from './relative-time.ts'
import { useHydrated } from './use-hydrated.ts'

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/**
 * A relative time; the exact one appears on hover. The server doesn't know the user's time zone and uses UTC.
 */
export function Time({ value }: { readonly value: string }) {
  const now = useNow()
  const exact = useHydrated() ? local.format(new Date(value)) : `${value.slice(0, 19).replace('T', ' ')} UTC`
  return (
    <time dateTime={value} title={exact} className="time">
      {relativeTime(Date.parse(value) - now)}
    </time>
  )
}
