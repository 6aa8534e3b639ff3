import { useSyncExternalStore } from 'react'

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** A moment, as ISO 8601. Server and first render agree on UTC; then comes what the user's own clock and language make of it. */
export function Time({ value }: { readonly value: string }) {
  const isHydrated = useSyncExternalStore(
    subscribeToNothing,
    () => true,
    () => false,
  )
  return (
    <time dateTime={value} className="time">
      {isHydrated ? local.format(new Date(value)) : `${value.slice(0, 19).replace('T', ' ')} UTC`}
    </time>
  )
}

const subscribeToNothing = () => () => {}
