import { ConfigurationError } from './errors.ts'

/**
 * Whether the network can neither read nor change what is sent to a URL: it is https, or http on this machine. `URL` writes that as
 * `localhost`, `127.0.0.0/8`, or `[::1]`.
 */
export function isSecureUrl(url: URL): boolean {
  if (url.protocol === 'http:') return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === 'https:'
}

/**
 * Parses the URL that credentials are sent to, or keys come from.
 *
 * @throws ConfigurationError naming the setting when the URL is neither https nor on this machine
 */
export function requireSecureUrl(setting: string, value: string): URL {
  const url = URL.parse(value)
  if (url !== null && isSecureUrl(url)) return url
  throw new ConfigurationError(`${setting} must be https, or http on this machine`)
}
