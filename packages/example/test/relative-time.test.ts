import { expect, test } from 'vitest'
import { relativeTime } from '../src/web/ui/relative-time.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test.each([
  [0, 'just now'],
  [-59 * SECOND, 'just now'],
  // The clock of a page ticks every 10 seconds.
  [14 * SECOND, 'just now'],
  [-MINUTE, '1 minute ago'],
  [-59 * MINUTE, '59 minutes ago'],
  [-HOUR, '1 hour ago'],
  [-25 * HOUR, 'yesterday'],
  [-3 * DAY, '3 days ago'],
  [-60 * DAY, '2 months ago'],
  [-800 * DAY, '2 years ago'],
  [30 * SECOND, 'in 30 seconds'],
  [7 * DAY, 'in 7 days'],
])('%d ms is "%s"', (distance, text) => {
  expect(relativeTime(distance)).toBe(text)
})
