import { ConfigurationError } from '../protocol/errors.ts'

/** @param reserved a name that is taken */
export function requireCookieName(setting: string, name: string, reserved?: string): void {
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name) || name === reserved)
    throw new ConfigurationError(`${setting} must be 1 to 64 letters, digits, dots, dashes, or underscores`)
}

/** Browsers drop a cookie with the domain of another host, a single label, or an address. */
export function requireCookieDomain(domain: string | undefined, baseUrl: string): void {
  const host = URL.parse(baseUrl)?.hostname
  if (domain === undefined || host === undefined) return
  const isDomain = /^([a-z0-9-]+\.)+[a-z][a-z0-9-]*$/.test(domain)
  if (!isDomain || !`.${host}`.endsWith(`.${domain}`))
    throw new ConfigurationError(
      `cookieDomain must be ${host} or its parent domain, in lower case, without a leading dot`,
    )
}

/** Browsers drop cookies with `SameSite=None` over http. Without other origins, no page could use them. */
export function requireCrossSite(options: {
  baseUrl: string
  allowedOrigins?: readonly string[]
  cookieSameSite?: 'lax' | 'none'
}): void {
  const { baseUrl, allowedOrigins = [], cookieSameSite } = options
  if (cookieSameSite !== 'none') return
  if (URL.parse(baseUrl)?.protocol !== 'https:' || allowedOrigins.length === 0)
    throw new ConfigurationError(
      "cookieSameSite: 'none' needs an https baseUrl, and the other sites in allowedOrigins",
    )
}
