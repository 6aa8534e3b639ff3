/** Timers that are moved by hand, for a runtime of its own. */
export interface Timers {
  /** What to put in place of the runtime's own. */
  readonly globals: object
  /** Milliseconds that have passed. */
  now(): number
  /** How many are set. */
  readonly pending: number
  /** Lets time pass, and everything that is due happen in order. */
  advance(ms: number): Promise<void>
}

/** Their handles are plain numbers, as on the edge: nothing can be done with one but clear it. */
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

/** Until everything that follows from what has happened has happened. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
