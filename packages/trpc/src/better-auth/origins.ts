import { ConfigurationError } from '@sallyport/core'
import type { BetterAuthSource } from './source.ts'

/** Returns the URL of the app. @throws ConfigurationError if Better Auth's options have none, or several */
export function baseUrlOf({ auth }: BetterAuthSource): string {
  const { baseURL = process.env.BETTER_AUTH_URL } = auth.options
  if (typeof baseURL === 'string' && baseURL !== '') return baseURL
  throw new ConfigurationError(
    'betterAuthGuard: baseUrl is not set. Set BETTER_AUTH_URL or baseURL of betterAuth(), or pass { baseUrl } if it has several.',
  )
}

/**
 * Returns the origins of Better Auth's `trustedOrigins` and of `BETTER_AUTH_TRUSTED_ORIGINS`, without schemes
 * of native apps such as `myapp://`, which browsers never send.
 * @throws ConfigurationError if one is a pattern, or if `trustedOrigins` is a function
 */
export function trustedOriginsOf({ auth }: BetterAuthSource): readonly string[] {
  const { trustedOrigins = [] } = auth.options
  const fromEnvironment = process.env.BETTER_AUTH_TRUSTED_ORIGINS?.split(',') ?? []
  const origins = Array.isArray(trustedOrigins) ? [...trustedOrigins, ...fromEnvironment] : ['*']
  if (!origins.some((origin) => /[*?]/.test(origin) && !NATIVE.test(origin)))
    return origins.filter((origin) => /^https?:/.test(origin))
  throw new ConfigurationError(
    'betterAuthGuard: trustedOrigins has patterns or is a function, which WebSockets and CORS cannot use. List the origins of your pages in betterAuthGuard(auth, { allowedOrigins }).',
  )
}

/** A URL of a native app, which may have a pattern, such as `exp://**`. */
const NATIVE = /^(?!https?:)[a-z][\w+.-]*:\/\//i
