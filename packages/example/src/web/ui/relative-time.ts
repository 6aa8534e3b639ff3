const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Each unit up to this distance. */
const UNITS = [
  { unit: 'second', ms: SECOND_MS, below: MINUTE_MS },
  { unit: 'minute', ms: MINUTE_MS, below: HOUR_MS },
  { unit: 'hour', ms: HOUR_MS, below: DAY_MS },
  { unit: 'day', ms: DAY_MS, below: 30 * DAY_MS },
  { unit: 'month', ms: 30 * DAY_MS, below: 365 * DAY_MS },
  { unit: 'year', ms: 365 * DAY_MS, below: Number.POSITIVE_INFINITY },
] as const

/** The clock of a page ticks every 10 seconds, so a new row may seem to be from the future. */
const MAX_FUTURE_MS = 15 * SECOND_MS

/** Formats a distance from now: `just now`, `5 minutes ago`, `in 30 days`. */
export function relativeTime(distanceMs: number): string {
  if (distanceMs > -MINUTE_MS && distanceMs < MAX_FUTURE_MS) return 'just now'
  const { unit, ms } = UNITS.find(({ below }) => Math.abs(distanceMs) < below) ?? UNITS[5]
  return format.format(Math.trunc(distanceMs / ms), unit)
}
