/** The dates that a column of numbers may contain. Others are in another unit, such as seconds. */
export const MIN_DATE: number = Date.UTC(2000, 0)
/** Apps store dates before it for "never". */
export const MAX_DATE: number = Date.UTC(10_000, 0)

/** As of SQLite's `current_timestamp`. JavaScript would read it as local time. */
const WITHOUT_ZONE = /[ T][\d:.]+$/

/**
 * Returns the date of a column: ISO 8601, where a missing zone means UTC, or milliseconds since 1970. An
 * unreadable date is invalid.
 */
export function readDate(value: unknown): Date {
  if (value instanceof Date) return value
  if (typeof value === 'number') return new Date(value >= MIN_DATE && value < MAX_DATE ? value : Number.NaN)
  // JavaScript finds a year in almost any text.
  if (typeof value !== 'string' || !/^\d{4}-/.test(value)) return new Date(Number.NaN)
  const isWithoutZone = !value.endsWith('Z') && WITHOUT_ZONE.test(value)
  return new Date(isWithoutZone ? `${value}Z` : value)
}

/**
 * Returns a bound for SQL that selects rows that haven't expired. SQLite compares text: a date that was
 * written by hand, such as `2026-11-29 15:00`, may come before the present of the same day. Then check each
 * row with {@link readDate}.
 */
export function dayBefore(now: Date): Date {
  return new Date(now.getTime() - 24 * 60 * 60 * 1000)
}
