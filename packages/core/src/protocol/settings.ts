import { ConfigurationError, isConfigurationError } from './errors.ts'

/** A longer timer fires at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1

/** Runs every check. @throws ConfigurationError that lists every problem, one per line */
export function checkAll(checks: readonly (() => unknown)[]): void {
  const problems = checks.flatMap((check) => {
    try {
      check()
      return []
    } catch (error) {
      if (!isConfigurationError(error)) throw error
      return [error.message]
    }
  })
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'))
}

/** Returns a setting that must be a positive whole number. @throws ConfigurationError naming the setting */
export function requirePositive(setting: string, value: number, max?: number): number {
  if (Number.isSafeInteger(value) && value > 0 && (max === undefined || value <= max)) return value
  const upTo = max === undefined ? '' : ` up to ${max}`
  throw new ConfigurationError(`${setting} must be a positive whole number${upTo}`)
}

/** Returns the URL in a setting. @throws ConfigurationError if it isn't secure, naming the setting */
export function requireSecureUrl(setting: string, value: string): URL {
  const url = URL.parse(value)
  if (url !== null && isSecureUrl(url)) return url
  throw new ConfigurationError(`${setting} must be https, or http on this machine`)
}

/** Returns whether a URL is https, or http on this machine: `localhost`, `127.0.0.0/8`, or `[::1]`. */
export function isSecureUrl(url: URL): boolean {
  if (url.protocol === 'http:') return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === 'https:'
}
