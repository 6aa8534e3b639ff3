import { ConfigurationError } from '@sallyport/core'
import type { AnyTRPCRouter } from '@trpc/server'

/**
 * The functions of a router, by their paths, with what each of them is.
 *
 * @throws ConfigurationError when it has subscriptions, lazy routers, or names of ours
 */
export function functionTypes(router: AnyTRPCRouter): ReadonlyMap<string, string> {
  const lazy = Object.keys(router._def.lazy)
  if (lazy.length > 0)
    throw new ConfigurationError(
      `internal functions: ${lazy.join(', ')} is loaded lazily, and must be there from the start`,
    )
  const procedures = Object.entries(router._def.procedures as Record<string, { _def: { type: string } }>)
  for (const [path, { _def }] of procedures) {
    if (/^sallyport(\.|$)/.test(path))
      throw new ConfigurationError(`internal functions: ${path} has a name that is kept for ours`)
    if (_def.type === 'subscription')
      throw new ConfigurationError(`internal functions: ${path} is a subscription; a call has one answer`)
  }
  return new Map(procedures.map(([path, { _def }]) => [path, _def.type]))
}
