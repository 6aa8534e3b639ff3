/** Timers that a test moves by hand, for a separate runtime. */
export interface Timers {
  /** Replacements for the runtime's globals. */
  readonly globals: object
  /** Milliseconds that have passed. */
  now(): number
  /** The number of pending timers. */
  readonly pending: number
  /** Advances time and runs everything due in order. */
  advance(ms: number): Promise<void>
}

/** Creates timers whose handles are plain numbers, as on the edge, and can only be cleared. */
export function createTimers(): Timers {
  const timers = new Map<number, { readonly at: number; readonly run: () => void }>()
  let now = 0
  let last = 0

  async function advance(ms: number): Promise<void> {
    const end = now + ms
    for (let next = earliest(end); next !== null; next = earliest(end)) {
      const [id, { at, run }] = next
      timers.delete(id)
      now = at
      run()
      await settle()
    }
    now = end
    await settle()
  }

  function earliest(end: number) {
    const due = [...timers].filter(([, { at }]) => at <= end)
    return due.sort(([, a], [, b]) => a.at - b.at)[0] ?? null
  }

  return {
    globals: {
      setTimeout(run: () => void, ms = 0) {
        timers.set(++last, { at: now + ms, run })
        return last
      },
      clearTimeout: (id: number | undefined) => void (id !== undefined && timers.delete(id)),
      performance: { now: () => now },
    },
    now: () => now,
    get pending() {
      return timers.size
    },
    advance,
  }
}

/** Waits until all pending work is done. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
