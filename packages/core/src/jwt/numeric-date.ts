/** A Date ends at 8.64e15 milliseconds; what lies beyond is no moment. */
const LAST_SECOND = 8.64e12

/** Whether a claim is a NumericDate in whole seconds (RFC 7519 section 2). */
export function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LAST_SECOND
}
