import { ConfigurationError } from './errors.ts'

/**
 * A setting that counts something.
 *
 * @param most the greatest value that makes sense
 * @throws ConfigurationError naming the setting
 */
export function requirePositive(
  setting: string,
  value: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(value) && value > 0 && value <= most) return value
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` up to ${most}`
  throw new ConfigurationError(`${setting} must be a positive whole number${upTo}`)
}
