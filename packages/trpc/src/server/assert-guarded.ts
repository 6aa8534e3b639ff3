import type { AnyTRPCRouter } from '@trpc/server'
import { isGuard } from './guard.ts'

/**
 * Throws when a procedure of the router is neither guarded by a session middleware nor named as public, or when it parses its input
 * before the guard and so tells strangers what the input should be. Call it at start or in a test. A router behind tRPC's `lazy()`
 * is a fault too, as it is not there yet: check it in its own module.
 *
 * @param options.public paths of the procedures that anyone may call, such as `health` or `posts.list`
 * @example assertGuarded(appRouter, { public: ['health'] })
 */
export function assertGuarded(router: AnyTRPCRouter, options: { public: readonly string[] }): void {
  const open = new Set(options.public)
  const faults: string[] = []
  for (const [path, procedure] of Object.entries(procedures(router))) {
    const isPublic = open.delete(path)
    const names = procedure._def.middlewares
    const guard = names.findIndex(isGuard)
    if (guard === -1 && !isPublic)
      faults.push(`${path} has no session middleware and is not listed as public`)
    if (guard !== -1 && isPublic) faults.push(`${path} is listed as public and has a session middleware`)
    if (names.slice(0, Math.max(guard, 0)).some(isInputParser))
      faults.push(`${path} parses its input before its guard`)
  }
  for (const path of Object.keys(router._def.lazy))
    faults.push(`${path} is loaded lazily and cannot be checked`)
  for (const path of open) faults.push(`${path} is listed as public and does not exist`)
  if (faults.length > 0) throw new Error(`assertGuarded: ${faults.join('; ')}`)
}

interface InspectableProcedure {
  readonly _def: { readonly middlewares: readonly unknown[] }
}

/** The procedures by path. tRPC keeps the list of middlewares out of its types. */
function procedures(router: AnyTRPCRouter): Record<string, InspectableProcedure> {
  return router._def.procedures as Record<string, InspectableProcedure>
}

function isInputParser(middleware: unknown): boolean {
  return typeof middleware === 'function' && '_type' in middleware && middleware._type === 'input'
}
