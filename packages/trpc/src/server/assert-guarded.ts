import type { AnyTRPCRouter } from '@trpc/server'
import { isGuard } from './guard.ts'

/**
 * Checks that every procedure has a session middleware or is listed as public, and that none parses its input
 * before the guard, which would show anonymous callers its shape. Check a `lazy()` router in its own module.
 *
 * @param options.public paths of the procedures that anyone may call, such as `health` or `posts.list`
 * @throws Error that lists every fault by path
 * @example assertGuarded(appRouter, { public: ['health'] })
 */
export function assertGuarded(router: AnyTRPCRouter, options: { public: readonly string[] }): void {
  const open = new Set(options.public)
  const faults: string[] = []
  // tRPC keeps the list of middlewares out of its types.
  const procedures = router._def.procedures as Record<string, { _def: { middlewares: readonly unknown[] } }>
  for (const [path, procedure] of Object.entries(procedures)) {
    const isPublic = open.delete(path)
    const { middlewares } = procedure._def
    const guard = middlewares.findIndex(isGuard)
    if (guard === -1 && !isPublic)
      faults.push(`${path} has no session middleware and is not listed as public`)
    if (guard !== -1 && isPublic) faults.push(`${path} is listed as public and has a session middleware`)
    if (middlewares.slice(0, Math.max(guard, 0)).some(isInputParser))
      faults.push(`${path} parses its input before its guard`)
  }
  for (const path of Object.keys(router._def.lazy))
    faults.push(`${path} is loaded lazily and cannot be checked`)
  for (const path of open) faults.push(`${path} is listed as public and does not exist`)
  if (faults.length > 0) throw new Error(`assertGuarded: ${faults.join('; ')}`)
}

function isInputParser(middleware: unknown): boolean {
  return typeof middleware === 'function' && '_type' in middleware && middleware._type === 'input'
}
