/** Samples the stack of this process, and adds up the samples by the origin of the function on top. */
import { Session } from 'node:inspector/promises'

/** The first match wins. The functions of V8 and native modules have no URL, and belong to their callers. */
const ORIGINS: readonly (readonly [name: string, url: RegExp])[] = [
  [
    'Step 2',
    /better-sqlite3|core\/src\/(database|protocol\/deadline|session\/(validate-session|session-row|read-date))/,
  ],
  ['Step 1', /core\/src\//],
  ['guard', /trpc\/src\//],
  ['tRPC', /@trpc\//],
  ['HTTP and WebSocket', /^node:|\/(ws|@hono)\//],
]

/** The share of each origin of code in the samples. */
export type Shares = Record<string, number>

/** Starts a profile. The returned function ends it. */
export async function startProfile(): Promise<() => Promise<Shares>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    const origins = new Map<number, string>()
    // Callers come before their callees.
    for (const { id, callFrame, children = [] } of profile.nodes) {
      const { functionName, url } = callFrame
      const known = ORIGINS.find(([, pattern]) => pattern.test(url))?.[0]
      const own = known ?? (/^\((garbage|idle)/.test(functionName) ? functionName : undefined)
      const origin = own ?? origins.get(id) ?? 'other'
      origins.set(id, origin)
      for (const child of children) origins.set(child, origin)
    }
    const busy = (profile.samples ?? [])
      .map((id) => origins.get(id) ?? 'other')
      .filter((name) => name !== '(idle)')
    const shares: Shares = {}
    for (const name of busy) shares[name] = (shares[name] ?? 0) + 1 / busy.length
    return shares
  }
}
