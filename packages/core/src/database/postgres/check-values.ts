import { ConfigurationError } from '../../protocol/errors.ts'
import type { Query } from './drivers/driver.ts'

const MOMENT = Date.UTC(2001, 1, 3, 4, 5, 6, 789)

const PROBE = `select true as flag, 7::int4 as integer, ${MOMENT}::float8 as number,
  timestamptz '2001-02-03 04:05:06.789Z' as moment`

/**
 * Reads one value of each type that decides about a session.
 * @throws ConfigurationError if another value is read, as with a `DateStyle` that isn't ISO
 */
export async function checkValues(query: Query): Promise<void> {
  const { rows } = await query<Record<'flag' | 'integer' | 'number' | 'moment', unknown>>({ text: PROBE })
  const { flag, integer, number, moment } = rows[0] ?? {}
  const isRight = flag === true && integer === 7 && number === MOMENT
  if (isRight && moment instanceof Date && moment.getTime() === MOMENT) return
  throw new ConfigurationError(
    `The client misreads values, such as the date 2001-02-03 as ${String(moment)}. Set DateStyle to ISO and extra_float_digits to 0 or more, and use the default parsers of numbers and booleans.`,
  )
}
