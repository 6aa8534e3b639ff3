import type { AuthConfig } from '../../config.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import type { Settings } from './settings.ts'

/**
 * Returns the URL of a page on our origin, or of the allow list. A link to our own sign-in could otherwise
 * send users to any site (RFC 9700 section 4.11). @throws EndpointError `INVALID_INPUT` naming the field
 */
export function requireTarget(
  field: 'redirectTo' | 'errorTo',
  target: string,
  context: { config: AuthConfig; redirects: Settings['redirects'] },
): string {
  const url = resolveTarget(target, context)
  if (url === null) throw reject('INVALID_INPUT', { fields: [field] })
  return url
}

/** Returns null if the target is neither on our origin nor listed. */
export function resolveTarget(
  target: string,
  { config, redirects }: { config: AuthConfig; redirects: Settings['redirects'] },
): string | null {
  if (redirects.includes(target)) return target
  const isOwn = target.startsWith('/') || target.startsWith(config.issuer)
  // The parser also resolves `//host`, `/\host`, and a tab between two slashes.
  const url = isOwn ? URL.parse(target, config.issuer) : null
  return url?.origin === config.issuer ? url.href : null
}

/** Adds a parameter, which replaces one of the same name. */
export function withParameter(url: string, name: string, value: string): string {
  const target = new URL(url)
  target.searchParams.set(name, value)
  return target.href
}
